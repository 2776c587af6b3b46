import { Store } from '../live/store.ts';

/** Number of wishes to see the end of the conversation. */
export const followWishes = new Store(0);

/** Moves the conversation to its end, such as after a message was sent. */
export function followEnd(): void {
  followWishes.set(followWishes.get() + 1);
}
