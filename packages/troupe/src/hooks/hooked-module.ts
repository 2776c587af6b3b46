import { TroupeError } from '../errors.ts';
import { StateModule } from '../state/state-module.ts';
import { changeClassHooks, classHooks, type AnyClass } from './class-hooks.ts';
import { HookTable, type AnyHook, type HookOptions, type NamedHook } from './hook-table.ts';
import { installHookPrototype, type Hookable, type HookPoint } from './run-hooks.ts';

/** Key of a type-only property with the hook types of a class. */
export const hookTypes: unique symbol = Symbol('hookTypes');

/** Key of a type-only property with the options of hooks of a class. */
export const hookOptionTypes: unique symbol = Symbol('hookOptionTypes');

type HookOptionsOf<Module> = Module extends { readonly [hookOptionTypes]?: infer Options }
  ? NonNullable<Options>
  : HookOptions;
type HooksOf<Module> = Module extends { readonly [hookTypes]?: infer Hooks } ? NonNullable<Hooks> : never;
type HookType<Module> = keyof HooksOf<Module> & string;
type ClassOf<Module> = abstract new (...args: never[]) => Module;

/**
 * Base class of modules with hooks around their methods, for one instance or for a class.
 *
 * Hooks have names. Instance hooks run first, then hooks of the class and its base classes; within each group
 * by priority, then by registration order. Class hooks also apply to subclasses. Folder `hooks`: this class
 * is the interface, `run-hooks.ts` the mechanism.
 */
export abstract class HookedModule extends StateModule implements Hookable {
  /** Methods with hooks around them. */
  static readonly hookPoints: readonly HookPoint[] = [];
  /** Hook types without a method. */
  static readonly otherHookTypes: readonly string[] = [];

  #instanceHooks: HookTable | undefined;

  constructor() {
    super();
    installHookPrototype(this, new.target, new.target.hookPoints);
  }

  /** Adds a hook to this instance. The returned function removes the hook. */
  registerInstanceHook<Type extends HookType<this>>(
    type: Type,
    name: string,
    hook: HooksOf<this>[Type],
    options?: HookOptionsOf<this>,
  ): () => void {
    checkHookType(this.constructor, type);
    const table = (this.#instanceHooks ??= new HookTable());
    const entry = table.register(type, name, hook as AnyHook, options);
    return () => table.removeExactly(type, entry);
  }

  /** @throws TroupeError if there is no hook with this name */
  removeInstanceHook(type: HookType<this>, name: string): void {
    checkHookType(this.constructor, type);
    (this.#instanceHooks ?? new HookTable()).remove(type, name);
  }

  clearInstanceHooks(type?: HookType<this>): void {
    checkHookType(this.constructor, type);
    this.#instanceHooks?.clear(type);
  }

  /**
   * Adds a hook to all instances of this class and its subclasses. The returned function removes the hook.
   */
  static registerClassHook<Module extends HookedModule, Type extends HookType<Module>>(
    this: ClassOf<Module>,
    type: Type,
    name: string,
    hook: HooksOf<Module>[Type],
    options?: HookOptionsOf<Module>,
  ): () => void {
    checkHookType(this, type);
    const entry = changeClassHooks(this, (table) => table.register(type, name, hook as AnyHook, options));
    return () => changeClassHooks(this, (table) => table.removeExactly(type, entry));
  }

  /** @throws TroupeError if this class itself has no hook with this name */
  static removeClassHook<Module extends HookedModule>(
    this: ClassOf<Module>,
    type: HookType<Module>,
    name: string,
  ): void {
    checkHookType(this, type);
    changeClassHooks(this, (table) => table.remove(type, name));
  }

  static clearClassHooks<Module extends HookedModule>(this: ClassOf<Module>, type?: HookType<Module>): void {
    checkHookType(this, type);
    changeClassHooks(this, (table) => table.clear(type));
  }

  /** Hooks of all types. */
  protected allHooks(): readonly NamedHook[] {
    return hookTypesOf(this.constructor).flatMap((type) => this.hooksOf(type));
  }

  /** Hooks of a type in execution order. */
  hooksOf(type: string): readonly NamedHook[] {
    const shared = classHooks(this.constructor as AnyClass, type);
    const own = this.#instanceHooks?.of(type);
    return own === undefined || own.length === 0 ? shared : [...own, ...shared];
  }
}

function hookTypesOf(cls: object): readonly string[] {
  const { hookPoints, otherHookTypes } = cls as typeof HookedModule;
  return [...hookPoints.flatMap((point) => [point.pre, point.post]), ...otherHookTypes];
}

function checkHookType(cls: { readonly name: string }, type: string | undefined): void {
  const types = hookTypesOf(cls);
  if (type === undefined || types.includes(type)) return;
  throw new TroupeError(
    'invalid_hook',
    `${cls.name} has no hook type '${type}'. It has: ${types.join(', ')}.`,
  );
}
