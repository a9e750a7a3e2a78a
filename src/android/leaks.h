/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks: Android objects whose life is over by what their own fields say. That something still holds them, which makes a
 * leak of it, is for who asks.
 *
 * What each field means is the framework's: Activity.performDestroy() sets mDestroyed; FragmentManager takes itself out of
 * a fragment that it destroyed (mCalled tells that it ever lived); Dialog.dismissDialog() clears mDecor of one that was
 * created; a View counts its windows in mWindowAttachCount and has mAttachInfo while it is in one; ActivityThread has each
 * living Service in mServices; ViewModel.clear() sets mCleared, since lifecycle 2.9 ViewModelImpl.isCleared.
 */
#ifndef HEAPFS_LEAKS_H
#define HEAPFS_LEAKS_H

#include "heap/heap.h"

/* `kind` and `reason` are constants: "activity", "mDestroyed is true". */
typedef void ended_fn(void *context, uint64_t id, const char *kind, const char *reason);

/* Calls `each` for every object that has ended, by kind, in file order; for a view that a fragment kept, once. 0, or -1
   without memory. */
int android_ended(const struct heap *heap, ended_fn *each, void *context);

#endif
