import { HookError, messageOf, TroupeError } from '../errors.ts';
import { abortable } from '../util/abort.ts';
import { describe, isJsonObject } from '../util/json.ts';
import type { AnyClass } from './class-hooks.ts';
import type { NamedHook } from './hook-table.ts';

type Args = Readonly<Record<string, unknown>>;

/** Accepted return values of a post hook, besides undefined. */
export interface ResultKind {
  /** Description for error messages, e.g. `nothing or a Msg`. */
  readonly name: string;
  readonly includes: (value: unknown) => boolean;
}

/** Arguments that hooks see and may replace, though the method does not take them. */
export interface HookContext {
  /** The arguments by name. Called before the hooks. */
  readonly get: (args: Args, instance: object) => Args | Promise<Args>;
  /** Takes over the arguments, before the method runs. */
  readonly set: (args: Args, instance: object) => void;
  /** Called after the method. */
  readonly clear?: (args: Args, instance: object) => void;
}

/** Return values of post hooks that are no result. */
export interface HookControls {
  /** Description for error messages, e.g. `stopAgent()`. */
  readonly name: string;
  readonly includes: (value: unknown) => boolean;
  /** Receives the return value of a hook in place of a new result. */
  readonly take: (value: unknown, args: Args) => void;
}

/** Method with hooks around it. Hooks receive the method's arguments by name. */
export interface HookPoint {
  readonly method: string;
  readonly pre: string;
  readonly post: string;
  readonly params: readonly string[];
  /** Normalizes the arguments before hooks and the method see them. */
  readonly normalize?: (args: readonly unknown[]) => unknown[];
  /** Further arguments for hooks. */
  readonly context?: HookContext;
  /** Checks and normalizes the arguments that a pre hook returned. Its errors fail the hook. */
  readonly checkChanges?: (changes: Args) => Args;
  /** Accepted return values of post hooks. @default anything */
  readonly result?: ResultKind;
  /** Return values of post hooks that are no result. @default none */
  readonly controls?: HookControls;
  /**
   * Tells whether the method returned without a result yet, e.g. for a suspended tool call; skips post hooks.
   * @default never
   */
  readonly isUnfinished?: (returned: unknown) => boolean;
  /**
   * Abort signal of the method, taken from its named arguments. After an abort, hooks are no longer awaited.
   */
  readonly signalOf?: (args: Args, instance: object) => AbortSignal | undefined;
  /**
   * Abort signal of the post hooks: after an abort they are no longer awaited, and the result is lost. Returns undefined where a result
   * must wait for its post hooks; the caller of the method then limits the wait. @default the signal of `signalOf`
   */
  readonly postSignalOf?: (args: Args) => AbortSignal | undefined;
  /** Runs the method with its hooks, e.g. after earlier calls of the method. @default at once */
  readonly around?: (instance: object, run: () => unknown) => unknown;
}

/** Object whose hooks can be looked up. */
export interface Hookable {
  /** Hooks of one type, in execution order. */
  hooksOf(type: string): readonly NamedHook[];
}

type Method = (this: Hookable, ...args: unknown[]) => unknown;

/** Hook before a method; may return replacement arguments. */
export type PreHook<Agent, Params> = (
  agent: Agent,
  args: Readonly<Params>,
) => Partial<Params> | undefined | void | Promise<Partial<Params> | undefined | void>;

/** Hook after a method; may return a replacement result. */
export type PostHook<Agent, Params, Result> = (
  agent: Agent,
  args: Readonly<Params>,
  result: Result,
) => Result | undefined | void | Promise<Result | undefined | void>;

const hookPrototypes = new WeakMap<AnyClass, object>();

/**
 * Surrounds the methods of an instance with hooks. Folder `hooks`: start here.
 *
 * Inserts one prototype, shared by all instances of a class, between the instance and its class. Its methods
 * run the hooks and then the method of the class. `this.reply()` and `agent.reply()` find this prototype
 * first; `super.reply()` starts above it. So hooks run once per call, for the outermost method, and
 * subclasses need no extra code.
 */
export function installHookPrototype(instance: Hookable, cls: AnyClass, points: readonly HookPoint[]): void {
  let hookPrototype = hookPrototypes.get(cls);
  if (hookPrototype === undefined) {
    hookPrototype = makeHookPrototype(cls.prototype as object, points);
    hookPrototypes.set(cls, hookPrototype);
  }
  Object.setPrototypeOf(instance, hookPrototype);
}

function makeHookPrototype(prototype: object, points: readonly HookPoint[]): object {
  const hookPrototype = Object.create(prototype) as object;
  for (const point of points) {
    const hooked: Method = function (...given) {
      let args: unknown[];
      try {
        args = point.normalize?.(given) ?? given;
      } catch (error) {
        return Promise.reject(error); // like an async method
      }
      const own = (prototype as Readonly<Record<string, Method | undefined>>)[point.method];
      if (typeof own !== 'function') {
        const problem = `${this.constructor.name} has no method ${point.method}().`;
        return Promise.reject(new TroupeError('invalid_config', problem));
      }
      if (point.around === undefined) return hook(this, point, args, own);
      return point.around(this, () => hook(this, point, args, own));
    };
    Object.defineProperty(hooked, 'name', { value: point.method });
    Object.defineProperty(hookPrototype, point.method, { value: hooked, writable: true, configurable: true });
  }
  return hookPrototype;
}

/**
 * Calls a method with its hooks, even if the method is an own property of the instance (e.g. an arrow
 * function in a class field), which shadows the hook prototype.
 */
export function callHooked(instance: Hookable, point: HookPoint, ...args: unknown[]): unknown {
  const method = Reflect.get(instance, point.method) as Method;
  return Object.hasOwn(instance, point.method)
    ? hook(instance, point, args, method)
    : method.apply(instance, args);
}

/** Whether calling the method of an instance runs `own` and nothing else: no hooks, and no method of a subclass or of the instance. */
export function isUnhooked(instance: Hookable, { method, pre, post }: HookPoint, own: unknown): boolean {
  if (instance.hooksOf(pre).length > 0 || instance.hooksOf(post).length > 0) return false;
  if (Object.hasOwn(instance, method)) return false;
  const cls: unknown = Object.getPrototypeOf(Object.getPrototypeOf(instance)); // above the hook prototype
  return (cls as Readonly<Record<string, unknown>>)[method] === own;
}

function hook(instance: Hookable, point: HookPoint, args: unknown[], own: Method): unknown {
  const pre = instance.hooksOf(point.pre);
  const post = instance.hooksOf(point.post);
  if (pre.length === 0 && post.length === 0) return own.apply(instance, args);
  return runHooked(instance, point, args, own, pre, post);
}

async function runHooked(
  agent: Hookable,
  point: HookPoint,
  positional: readonly unknown[],
  own: Method,
  pre: readonly NamedHook[],
  post: readonly NamedHook[],
): Promise<unknown> {
  const { context, params, checkChanges } = point;
  const named = Object.fromEntries(params.map((name, i) => [name, positional[i]]));
  const signal = point.signalOf?.(named, agent);
  const given = context === undefined ? named : { ...named, ...(await context.get(named, agent)) };
  const args = await runPreHooks(agent, point.pre, pre, given, { signal, checkChanges });
  const changed = [...params.map((name) => args[name]), ...positional.slice(params.length)];
  let result: unknown;
  try {
    context?.set(args, agent);
    result = await own.apply(agent, point.normalize?.(changed) ?? changed);
  } finally {
    context?.clear?.(args, agent);
  }
  if (point.isUnfinished?.(result)) return result;
  const { result: kind, controls } = point;
  return runPostHooks(agent, point.post, post, args, result, {
    kind,
    controls,
    signal: point.postSignalOf ? point.postSignalOf(args) : signal,
  });
}

interface PreHookOptions {
  readonly signal?: AbortSignal | undefined;
  readonly checkChanges?: HookPoint['checkChanges'] | undefined;
}

/**
 * Runs hooks in sequence until the signal is aborted. Each hook receives the arguments returned by the
 * previous hook.
 */
export async function runPreHooks<A extends Args>(
  agent: object,
  type: string,
  hooks: readonly NamedHook[],
  args: A,
  { signal, checkChanges = (changes) => changes }: PreHookOptions = {},
): Promise<A> {
  let current = Object.freeze({ ...args });
  const checked = (changes: Args, { name }: NamedHook): Args => {
    try {
      return checkChanges(changes);
    } catch (error) {
      throw new HookError(type, name, `returned a wrong argument: ${messageOf(error)}`, { cause: error });
    }
  };
  for (const hook of hooks) {
    const changes = await callHook(type, hook, [agent, current], signal);
    if (changes === undefined) continue;
    const keys = isJsonObject(changes) ? Object.keys(changes) : [describe(changes)];
    const unknown = keys.find((key) => !Object.hasOwn(args, key));
    if (unknown !== undefined) {
      const names = Object.keys(args).join(', ');
      throw new HookError(
        type,
        hook.name,
        `must return nothing or an object with some of: ${names}; not ${unknown}.`,
      );
    }
    current = Object.freeze({ ...current, ...(checked(changes as Args, hook) as Partial<A>) });
  }
  return current;
}

interface PostHookOptions {
  readonly kind?: ResultKind | undefined;
  readonly controls?: HookControls | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Runs hooks in sequence until the signal is aborted. Each hook receives the result of the previous hook. */
export async function runPostHooks<Result>(
  agent: object,
  type: string,
  hooks: readonly NamedHook[],
  args: Args,
  result: Result,
  { kind, controls, signal }: PostHookOptions = {},
): Promise<Result> {
  let current = result;
  for (const hook of hooks) {
    const replacement = await callHook(type, hook, [agent, args, current], signal);
    if (replacement === undefined) continue;
    if (controls?.includes(replacement)) {
      controls.take(replacement, args);
      continue;
    }
    if (kind?.includes(replacement) === false) {
      const expected = controls === undefined ? kind.name : `${kind.name}, or ${controls.name}`;
      throw new HookError(type, hook.name, `must return ${expected}, not ${describe(replacement)}.`);
    }
    current = replacement as Result;
  }
  return current;
}

/**
 * Runs a hook and awaits it until the signal is aborted.
 * @throws HookError with the hook's name, or the signal's reason
 */
export async function callHook(
  type: string,
  { name, hook }: NamedHook,
  args: readonly unknown[],
  signal?: AbortSignal,
): Promise<unknown> {
  signal?.throwIfAborted();
  try {
    const result = (hook as (...args: readonly unknown[]) => unknown)(...args);
    return await (signal && isThenable(result) ? abortable(Promise.resolve(result), signal) : result);
  } catch (error) {
    signal?.throwIfAborted();
    throw new HookError(type, name, `failed: ${messageOf(error)}`, { cause: error });
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value;
}
