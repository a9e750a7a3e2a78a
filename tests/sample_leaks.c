/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heaps with one of each kind of leak, and beside it what looks alike and is none. The classes' names tell which is
 * which: Dead… leak, all others do not.
 */
#include "samples.h"

#include <stdio.h>

#define THINGS_MOST 64

/* What a static array holds strongly; and classes that several parts need. */
struct things {
	struct vm vm;
	uint64_t list[THINGS_MOST];
	uint32_t count;
	uint64_t reference, view, live_view, fragment;
};

static uint64_t hold(struct things *things, uint64_t id)
{
	things->list[things->count++] = id;
	return id;
}

/* A new object of a new class below `super`. */
static uint64_t hold_new(struct things *things, const char *name, uint64_t super, const uint64_t *values, unsigned count)
{
	return hold(things, vm_new(&things->vm, 0, vm_define(&things->vm, name, super, ""), values, count));
}
#define HOLD(things, name, super, ...) \
	hold_new(things, name, super, (const uint64_t[]){ __VA_ARGS__ }, \
		 sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void root_class(struct vm *vm, const char *name, const char *field, uint64_t value)
{
	const struct member_spec member = { .name = field, .type = TYPE_OBJECT, .value = value };
	vm_root(vm, ROOT_STICKY_CLASS, vm_define_statics(vm, name, vm->object, "", &member, 1));
}

static void finish(struct things *things, const char *version, struct writer *out)
{
	const uint64_t objects = vm_define(&things->vm, "java.lang.Object[]", things->vm.object, "");
	root_class(&things->vm, "com.example.Holder", "things",
		   vm_object_array(&things->vm, objects, things->list, things->count));
	vm_finish(&things->vm, version, out);
}

/* --- Android --- */

static void make_activities(struct things *things)
{
	struct vm *vm = &things->vm;
	const uint64_t activity = vm_define(vm, "android.app.Activity", vm->object, "mDestroyed:Z");
	const uint64_t weak = vm_define(vm, "java.lang.ref.WeakReference", things->reference, "");
	HOLD(things, "com.example.DeadActivity", activity, true);
	HOLD(things, "com.example.LiveActivity", activity, false);
	/* It has ended, but nothing holds it. */
	const uint64_t ended = vm_define(vm, "com.example.WeaklyHeldActivity", activity, "");
	hold(things, VM_NEW(vm, weak, VM_NEW(vm, ended, true)));
}

static void make_views(struct things *things)
{
	struct vm *vm = &things->vm;
	things->view = vm_define(vm, "android.view.View", vm->object, "mAttachInfo:L mParent:L mWindowAttachCount:I");
	const uint64_t info = VM_NEW(vm, vm_define(vm, "android.view.View$AttachInfo", vm->object, ""), 0);
	const uint64_t window = VM_NEW(vm, vm_define(vm, "android.view.ViewRootImpl", vm->object, ""), 0);
	HOLD(things, "com.example.FreshView", things->view, 0, 0, 0);
	things->live_view = HOLD(things, "com.example.LiveView", things->view, info, window, 1);
	const uint64_t dead = HOLD(things, "com.example.DeadView", things->view, 0, 0, 2);
	HOLD(things, "com.example.ChildOfDeadView", things->view, 0, dead, 2);
}

static void make_fragments(struct things *things)
{
	static const struct {
		const char *base, *dead, *live, *fresh;
	} kinds[] = {
		{ "android.app.Fragment", "com.example.DeadFragment", "com.example.LiveFragment", "com.example.FreshFragment" },
		{ "android.support.v4.app.Fragment", "com.example.DeadSupportFragment", "com.example.LiveSupportFragment",
		  "com.example.FreshSupportFragment" },
		{ "androidx.fragment.app.Fragment", "com.example.DeadXFragment", "com.example.LiveXFragment",
		  "com.example.FreshXFragment" },
	};
	struct vm *vm = &things->vm;
	const uint64_t manager = VM_NEW(vm, vm_define(vm, "com.example.Manager", vm->object, ""), 0);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		things->fragment = vm_define(vm, kinds[i].base, vm->object, "mFragmentManager:L mView:L mCalled:Z");
		HOLD(things, kinds[i].dead, things->fragment, 0, 0, true);
		HOLD(things, kinds[i].live, things->fragment, manager, things->live_view, true);
		HOLD(things, kinds[i].fresh, things->fragment, 0, 0, false); /* made, and not attached yet */
	}
	/* Two that live on without their views, of which one kept two children of its. Own fields come first. */
	const uint64_t root = VM_NEW(vm, vm_define(vm, "com.example.DeadFragmentView", things->view, ""), 0, 0, 1);
	const uint64_t child = VM_NEW(vm, vm_define(vm, "com.example.Button", things->view, ""), 0, root, 1);
	const uint64_t other = VM_NEW(vm, vm_define(vm, "com.example.Label", things->view, ""), 0, root, 1);
	const uint64_t keeping = vm_define(vm, "com.example.KeepingPage", things->fragment, "button:L label:L live:L");
	hold(things, VM_NEW(vm, keeping, child, other, things->live_view, manager, 0, true));
	const uint64_t tidy = vm_define(vm, "com.example.TidyPage", things->fragment, "button:L");
	hold(things, VM_NEW(vm, tidy, 0, manager, 0, true));
}

static void make_view_models(struct things *things)
{
	struct vm *vm = &things->vm;
	const uint64_t impl = vm_define(vm, "androidx.lifecycle.viewmodel.internal.ViewModelImpl", vm->object, "isCleared:Z");
	const uint64_t model = vm_define(vm, "androidx.lifecycle.ViewModel", vm->object, "impl:L mCleared:Z");
	HOLD(things, "com.example.DeadModel", model, 0, true);
	HOLD(things, "com.example.DeadNewModel", model, VM_NEW(vm, impl, true), false);
	HOLD(things, "com.example.LiveModel", model, VM_NEW(vm, impl, false), false);
}

static void make_services(struct things *things)
{
	struct vm *vm = &things->vm;
	const uint64_t service = vm_define(vm, "android.app.Service", vm->object, "mClassName:L");
	const uint64_t live = HOLD(things, "com.example.LiveService", service, 0);
	const uint64_t token = hold(things, VM_NEW(vm, vm_define(vm, "android.os.BinderProxy", vm->object, ""), 0));
	HOLD(things, "com.example.DeadService", service, 0);
	const uint64_t slots[] = { token, live, 0, 0 };
	const uint64_t array = vm_object_array(vm, vm_define(vm, "java.lang.Object[][]", vm->object, ""), slots, 4);
	const uint64_t map = vm_define(vm, "android.util.ArrayMap", vm->object, "mArray:L mHashes:L mSize:I");
	const uint64_t services = VM_NEW(vm, map, array, 0, 1);
	const uint64_t id = vm_alloc(vm, 160), thread = vm_alloc(vm, 24);
	const struct class_spec spec = {
		.name = "android.app.ActivityThread", .id = id, .super = vm->object,
		.statics = &(struct member_spec){ .name = "sCurrentActivityThread", .type = TYPE_OBJECT, .value = thread },
		.static_count = 1,
		.fields = &(struct member_spec){ .name = "mServices", .type = TYPE_OBJECT }, .field_count = 1,
	};
	vm_class(vm, &spec, true);
	vm_new(vm, thread, id, &services, 1);
	vm_root(vm, ROOT_STICKY_CLASS, id);
}

static void make_dialogs(struct things *things)
{
	struct vm *vm = &things->vm;
	const uint64_t dialog = vm_define(vm, "android.app.Dialog", vm->object, "mDecor:L mCreated:Z");
	HOLD(things, "com.example.DeadDialog", dialog, 0, true);
	HOLD(things, "com.example.FreshDialog", dialog, 0, false);
	HOLD(things, "com.example.ShownDialog", dialog, things->live_view, true);
}

/* An object that owns native memory twice, one whose cleaner ran, one that another kind of cleaner is for. */
static void make_natives(struct things *things)
{
	struct vm *vm = &things->vm;
	const uint64_t registry_class = vm_define(vm, "libcore.util.NativeAllocationRegistry", vm->object, "freeFunction:J size:J");
	const uint64_t thunk = vm_define(vm, "libcore.util.NativeAllocationRegistry$CleanerThunk", vm->object, "this$0:L nativePtr:J");
	const uint64_t phantom = vm_define(vm, "java.lang.ref.PhantomReference", things->reference, "");
	const uint64_t cleaner = vm_define(vm, "sun.misc.Cleaner", phantom, "next:L prev:L thunk:L");
	const uint64_t large = VM_NEW(vm, registry_class, 0, 1000001), small = VM_NEW(vm, registry_class, 0, 98);
	const uint64_t owner = HOLD(things, "com.example.Owner", vm->object, 0), freed = HOLD(things, "com.example.Freed", vm->object, 0),
		       other = HOLD(things, "com.example.Other", vm->object, 0);
	hold(things, VM_NEW(vm, cleaner, 0, 0, VM_NEW(vm, thunk, large, 1), owner));
	hold(things, VM_NEW(vm, cleaner, 0, 0, VM_NEW(vm, thunk, small, 2), owner));
	const uint64_t ran = vm_alloc(vm, vm_size(vm, cleaner));
	hold(things, vm_new(vm, ran, cleaner, (uint64_t[]){ ran, ran, VM_NEW(vm, thunk, large, 3), freed }, 4));
	hold(things, VM_NEW(vm, cleaner, 0, 0, VM_NEW(vm, vm_define(vm, "com.example.Deallocator", vm->object, ""), 0), other));
}

void sample_leaks_android(struct writer *out)
{
	struct things things = { .count = 0 };
	writer_init(out, 4);
	vm_init(&things.vm, VM_ART, 4);
	things.reference = vm_define(&things.vm, "java.lang.ref.Reference", things.vm.object, "referent:L");
	make_activities(&things);
	make_views(&things);
	make_fragments(&things);
	make_view_models(&things);
	make_services(&things);
	make_dialogs(&things);
	make_natives(&things);
	finish(&things, "JAVA PROFILE 1.0.3", out);
}

/* --- JVM --- */

#define CHUNK_BYTES 1000

/* An object with a list of so many arrays of CHUNK_BYTES. */
static uint64_t make_cache(struct vm *vm, const char *name, uint64_t objects, uint32_t chunks)
{
	static const uint8_t bytes[CHUNK_BYTES];
	uint64_t list[200];
	for (uint32_t i = 0; i < chunks; i++)
		list[i] = vm_primitive_array(vm, TYPE_BYTE, bytes, CHUNK_BYTES);
	const uint64_t array = vm_object_array(vm, objects, list, chunks);
	return VM_NEW(vm, vm_define(vm, name, vm->object, "chunks:L"), array);
}

static uint64_t make_thread(struct vm *vm, uint64_t thread_class, const char *name, uint64_t loader)
{
	const uint64_t thread = VM_NEW(vm, thread_class, vm_string(vm, name), loader);
	vm_root(vm, ROOT_THREAD_OBJ, thread);
	return thread;
}

void sample_leaks_jvm(struct writer *out)
{
	struct vm vm;
	writer_init(out, 8);
	vm_init(&vm, VM_JDK9, 8);
	const uint64_t objects = vm_define(&vm, "java.lang.Object[]", vm.object, "");
	/* Of all that is reachable: more than a tenth, and less. */
	root_class(&vm, "com.example.DeadRegistry", "cache", make_cache(&vm, "com.example.DeadCache", objects, 100));
	for (unsigned i = 0; i < 20; i++) {
		char name[64], cache[64];
		snprintf(name, sizeof name, "com.example.Registry%u", i);
		snprintf(cache, sizeof cache, "com.example.Cache%u", i);
		root_class(&vm, name, "cache", make_cache(&vm, cache, objects, 20));
	}
	/* Class loaders that one thread, or one static, has; two of those; the VM's own. */
	const uint64_t thread = vm_define(&vm, "java.lang.Thread", vm.object, "name:L contextClassLoader:L");
	const uint64_t base = vm_define(&vm, "java.lang.ClassLoader", vm.object, "parent:L");
	const uint64_t shared = VM_NEW(&vm, vm_define(&vm, "com.example.SharedLoader", base, ""), 0);
	make_thread(&vm, thread, "pool-1-thread-1", VM_NEW(&vm, vm_define(&vm, "com.example.DeadThreadLoader", base, ""), 0));
	root_class(&vm, "com.example.Plugins", "last", VM_NEW(&vm, vm_define(&vm, "com.example.DeadStaticLoader", base, ""), 0));
	make_thread(&vm, thread, "pool-1-thread-2", shared);
	make_thread(&vm, thread, "pool-1-thread-3", shared);
	make_thread(&vm, thread, "main",
		    VM_NEW(&vm, vm_define(&vm, "jdk.internal.loader.ClassLoaders$AppClassLoader", base, ""), 0));
	vm_finish(&vm, "JAVA PROFILE 1.0.2", out);
}
