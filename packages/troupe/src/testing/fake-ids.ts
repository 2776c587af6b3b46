import { useIdSource } from '../util/ids.ts';

/** Makes all new ids count up (`id-1`, `id-2`, …), until the returned object is disposed. */
export function fakeIds(prefix = 'id-'): Disposable {
  let count = 0;
  return { [Symbol.dispose]: useIdSource(() => `${prefix}${++count}`) };
}
