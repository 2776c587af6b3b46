import type { UserInputBase } from '../user/user-input.ts';

/** Studios that run in this process, by their id: each sees all agents of the process, and asks by its own input. */
const localStudios = new Map<string, UserInputBase>();

/** Makes a Studio of this process known, so that `init` with its address does not record everything twice. The returned function ends this. */
export function registerLocalStudio(instance: string, input: UserInputBase): () => void {
  localStudios.set(instance, input);
  return () => void localStudios.delete(instance);
}

/** Input of a Studio of this process; undefined for Studios elsewhere. */
export function localStudioInput(instance: unknown): UserInputBase | undefined {
  return typeof instance === 'string' ? localStudios.get(instance) : undefined;
}
