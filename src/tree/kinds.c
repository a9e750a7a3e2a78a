/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all kinds of nodes. */
#include "tree/node.h"

#define FOLDER .type = S_IFDIR
#define FILE_ .type = S_IFREG
#define LINK .type = S_IFLNK

const struct kind_row kinds[KIND_COUNT] = {
	/* The top. Where a file holds one dump, the root shows what KIND_DUMP has as well. */
	[KIND_ROOT] = { FOLDER, KEY_DUMP, .list = list_dumps, .lookup = lookup_dump },
	[KIND_DUMP] = { FOLDER, KEY_DUMP, .up = up_dump },
	[KIND_README] = { FILE_, KEY_DUMP, "README.txt", KIND_ROOT, .pages = &readme_pages },
	[KIND_INFO] = { FILE_, KEY_DUMP, "info.txt", KIND_ROOT, .pages = &info_pages },
	[KIND_RAW] = { FILE_, KEY_DUMP, "raw.hprof", KIND_ROOT, is_one_file, .bytes = raw_bytes },
	[KIND_DUMP_INFO] = { FILE_, KEY_DUMP, "info.txt", KIND_DUMP, is_of_several_files, .pages = &info_pages },
	[KIND_DUMP_RAW] = { FILE_, KEY_DUMP, "raw.hprof", KIND_DUMP, is_of_several_files, .bytes = raw_bytes },
	[KIND_CLASSES_TSV] = { FILE_, KEY_DUMP, "classes.tsv", KIND_DUMP, .pages = &classes_pages },

	[KIND_CLASSES] = { FOLDER, KEY_DUMP, "classes", KIND_DUMP, .list = list_classes, .lookup = lookup_class },
	[KIND_CLASS] = { FOLDER, KEY_CLASS, .up = up_class },
	[KIND_CLASS_TXT] = { FILE_, KEY_CLASS, "class.txt", KIND_CLASS, .pages = &class_pages },
	[KIND_INSTANCES_TSV] = { FILE_, KEY_CLASS, "instances.tsv", KIND_CLASS, .pages = &instances_pages },
	[KIND_SUPER] = { LINK, KEY_CLASS, "super", KIND_CLASS, has_super, .depth = 2, .target = target_super },
	[KIND_CLASS_INSTANCES] = { LINK, KEY_CLASS, "instances", KIND_CLASS, has_instances, .depth = 2,
				   .target = target_instances },
	[KIND_LOADER] = { LINK, KEY_CLASS, "loader", KIND_CLASS, has_loader, .depth = 2, .target = target_loader },
	[KIND_SUBCLASSES] = { FOLDER, KEY_CLASS, "subclasses", KIND_CLASS, .list = list_subclasses,
			      .lookup = lookup_subclass },
	[KIND_SUBCLASS_BUCKET] = { FOLDER, KEY_CLASS_PART, .list = list_subclasses, .lookup = lookup_subclass,
				   .up = up_part },
	[KIND_SUBCLASS] = { LINK, KEY_CLASS, .depth = 3, .target = target_own_class },
	[KIND_BUCKET_SUBCLASS] = { LINK, KEY_CLASS, .depth = 4, .target = target_own_class },
	[KIND_STATICS] = { FOLDER, KEY_CLASS, "statics", KIND_CLASS, .list = list_statics, .lookup = lookup_static },
	[KIND_STATIC_BUCKET] = { FOLDER, KEY_CLASS_PART, .list = list_statics, .lookup = lookup_static, .up = up_part },
	[KIND_STATIC] = { LINK, KEY_OFFSET, .depth = 3, .target = target_reference },
	[KIND_BUCKET_STATIC] = { LINK, KEY_OFFSET, .depth = 4, .target = target_reference },

	[KIND_INSTANCES] = { FOLDER, KEY_DUMP, "instances", KIND_DUMP, .list = list_instance_classes,
			     .lookup = lookup_instance_class },
	[KIND_CLASS_OBJECTS] = { FOLDER, KEY_CLASS, .list = list_instances, .lookup = lookup_instance, .up = up_class },
	[KIND_INSTANCE_BUCKET] = { FOLDER, KEY_CLASS_PART, .list = list_instances, .lookup = lookup_instance,
				   .up = up_part },
	[KIND_INSTANCE_TXT] = { FILE_, KEY_OFFSET, .pages = &object_pages },
	[KIND_INSTANCE] = { LINK, KEY_OFFSET, .depth = 2, .target = target_object_itself },
	[KIND_BUCKET_INSTANCE] = { LINK, KEY_OFFSET, .depth = 3, .target = target_object_itself },

	/* objects/<id >> 28>/<(id >> 16) & 0xfff>/<id>: the key of the outer two is the offset of the object, or
	   class, with the lowest id in them. */
	[KIND_OBJECTS] = { FOLDER, KEY_DUMP, "objects", KIND_DUMP, .list = list_objects, .lookup = lookup_objects },
	[KIND_OBJECT_BY_ID] = { LINK, KEY_OFFSET, .depth = 1, .target = target_object_itself },
	[KIND_OBJECTS_HIGH] = { FOLDER, KEY_OFFSET, .list = list_objects_high, .lookup = lookup_objects_high,
				.up = up_objects_high },
	[KIND_OBJECTS_LOW] = { FOLDER, KEY_OFFSET, .list = list_objects_low, .lookup = lookup_objects_low,
			       .up = up_objects_low },
	[KIND_CLASS_OBJECT] = { LINK, KEY_CLASS, .depth = 3, .target = target_own_class },
	[KIND_OBJECT] = { FOLDER, KEY_OFFSET, .list = list_references, .lookup = lookup_reference, .up = up_object },
	[KIND_OBJECT_TXT] = { FILE_, KEY_OFFSET, "object.txt", KIND_OBJECT, .pages = &object_pages },
	[KIND_VALUE_TXT] = { FILE_, KEY_OFFSET, "value.txt", KIND_OBJECT, is_string, .pages = &value_pages },
	[KIND_DATA_BIN] = { FILE_, KEY_OFFSET, "data.bin", KIND_OBJECT, has_data, .bytes = data_bytes },
	[KIND_OBJECT_CLASS] = { LINK, KEY_OFFSET, "class.d", KIND_OBJECT, .depth = 4, .target = target_object_class },
	[KIND_REFERENCE] = { LINK, KEY_OFFSET, .depth = 4, .target = target_reference },
	[KIND_REFERENCE_BUCKET] = { FOLDER, KEY_OFFSET, .list = list_references, .lookup = lookup_reference,
				    .up = up_reference_bucket },
	[KIND_BUCKET_REFERENCE] = { LINK, KEY_OFFSET, .depth = 5, .target = target_reference },

	[KIND_STRINGS] = { FOLDER, KEY_DUMP, "strings", KIND_DUMP },
	[KIND_STRINGS_TSV] = { FILE_, KEY_DUMP, "strings.tsv", KIND_STRINGS, .pages = &strings_pages },

	[KIND_ROOTS] = { FOLDER, KEY_DUMP, "roots", KIND_DUMP, .list = list_roots, .lookup = lookup_roots },
	[KIND_ROOT_TAG] = { FOLDER, KEY_ROOTS, .list = list_root_links, .lookup = lookup_root_link, .up = up_root_tag },
	[KIND_ROOT_BUCKET] = { FOLDER, KEY_ROOTS_PART, .list = list_root_links, .lookup = lookup_root_link,
			       .up = up_part },
	[KIND_ROOT_LINK] = { LINK, KEY_OFFSET, .depth = 2, .target = target_reference },
	[KIND_BUCKET_ROOT_LINK] = { LINK, KEY_OFFSET, .depth = 3, .target = target_reference },

	/* Pictures. The key of what is of a Bitmap is its object's offset, that of other pictures where the
	   reference to their bytes is. */
	[KIND_BITMAPS_TSV] = { FILE_, KEY_DUMP, "bitmaps.tsv", KIND_DUMP, shows_bitmaps, .pages = &bitmaps_pages },
	[KIND_BITMAPS] = { FOLDER, KEY_DUMP, "bitmaps", KIND_DUMP, shows_bitmaps, .list = list_bitmaps,
			   .lookup = lookup_bitmap },
	[KIND_BITMAP] = { FILE_, KEY_OFFSET, .bytes = bitmap_bytes },
	[KIND_BITMAP_MADE] = { FILE_, KEY_OFFSET, .made = &bitmap_made },
	[KIND_WHY_EMPTY] = { FILE_, KEY_DUMP, "WHY-EMPTY.txt", KIND_BITMAPS, has_no_pictures, .pages = &why_pages },
	[KIND_BITMAP_OBJECTS] = { FOLDER, KEY_DUMP, "objects", KIND_BITMAPS, has_pictures, .list = list_bitmaps,
				  .lookup = lookup_bitmap },
	[KIND_BITMAP_OBJECT] = { LINK, KEY_OFFSET, .depth = 2, .target = target_object_itself },
	[KIND_REFUSED_FOLDER] = { FOLDER, KEY_DUMP, "refused", KIND_BITMAPS, has_refused, .list = list_pictures,
				  .lookup = lookup_picture },
	[KIND_REFUSED] = { FILE_, KEY_OFFSET, .bytes = picture_bytes },
	[KIND_ORPHANS] = { FOLDER, KEY_DUMP, "orphans", KIND_BITMAPS, has_orphans, .list = list_pictures,
			   .lookup = lookup_picture },
	[KIND_ORPHAN] = { FILE_, KEY_OFFSET, .bytes = picture_bytes },
	[KIND_TRACE_PICTURES] = { FOLDER, KEY_DUMP, "trace", KIND_BITMAPS, has_trace_pictures,
				  .list = list_trace_pictures, .lookup = lookup_trace_picture },
	[KIND_TRACE_PICTURE] = { FILE_, KEY_DUMP_PART, .bytes = trace_picture_bytes },
	[KIND_SMAPS] = { FILE_, KEY_DUMP, "smaps.tsv", KIND_DUMP, has_smaps, .bytes = smaps_bytes },
	[KIND_OBJECT_PNG] = { LINK, KEY_OFFSET, "bitmap.png", KIND_OBJECT, has_png, .depth = 4,
			      .target = target_bitmap },
	[KIND_OBJECT_JPG] = { LINK, KEY_OFFSET, "bitmap.jpg", KIND_OBJECT, has_jpg, .depth = 4,
			      .target = target_bitmap },
	[KIND_OBJECT_WEBP] = { LINK, KEY_OFFSET, "bitmap.webp", KIND_OBJECT, has_webp, .depth = 4,
			       .target = target_bitmap },
	[KIND_DUPLICATES] = { FOLDER, KEY_DUMP, "duplicates", KIND_DUMP, shows_bitmaps },
	[KIND_DUPLICATE_BITMAPS] = { FILE_, KEY_DUMP, "bitmaps.tsv", KIND_DUPLICATES,
				     .pages = &duplicate_bitmaps_pages },
};
