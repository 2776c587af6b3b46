import { messageOf, TroupeError } from '../errors.ts';
import { LinePattern } from '../filesystem/line-pattern.ts';
import { PathPattern } from '../filesystem/path-pattern.ts';
import { isForeign, sourceOf } from '../toolkit/tool/known-tools.ts';
import { canonicalJson } from '../util/canonical-json.ts';
import { copyJsonObject, isJsonObject, type JsonValue } from '../util/json.ts';
import type { PermissionRequest } from './permission-policy.ts';
import type { PermissionBehavior } from './permission-table.ts';
import {
  exactWords,
  isPlainlySet,
  matchExact,
  matchPrefix,
  commandText,
  type Match,
} from './shell/match-command.ts';
import type { FoundCommand } from './shell/find-commands.ts';

/**
 * Condition for an argument: an exact value; a path that matches a glob by segments; a text that matches a
 * regular expression; or a shell command that begins with these words.
 */
export type ArgumentMatch =
  | string
  | number
  | boolean
  | null
  | { readonly glob: string }
  | { readonly regex: string }
  | { readonly prefix: string };

/** A rule in JSON, which can be saved and suggested to a person. */
export interface SavedToolRule {
  /** Name of a tool, or a glob such as `mcp_*`. */
  readonly tool: string;
  readonly behavior: PermissionBehavior;
  /**
   * Source of the tool, such as `mcp:docs`, or a glob. @default any source for rules that ask or deny; the library
   * and the program for rules that allow
   */
  readonly source?: string | undefined;
  /** Conditions by argument name, all required. @default no conditions */
  readonly when?: { readonly [argument: string]: ArgumentMatch } | undefined;
  /** Matches only tool calls without other arguments than those in `when`. @default false */
  readonly exact?: boolean | undefined;
}

/** Behavior for matching tool calls. Of several matching rules the strictest applies. */
export type ToolRule =
  | SavedToolRule
  | (Omit<SavedToolRule, 'when'> & { readonly when: (request: PermissionRequest) => boolean });

/** Subject of a rule: a tool call, or one shell command in one of its arguments. */
export interface RuleSubject {
  readonly request: PermissionRequest;
  /** Argument that contains the command. */
  readonly argument?: string | undefined;
  /** Undefined if the argument can't be parsed. */
  readonly command?: FoundCommand | undefined;
  /** Folder of relative paths, if known. */
  readonly base: string | undefined;
}

export interface CompiledRule {
  readonly rule: ToolRule;
  match(subject: RuleSubject): Match;
}

const BEHAVIORS: readonly unknown[] = ['allow', 'ask', 'deny'];

/** @throws TroupeError if the rule is invalid. */
export function compileRule(rule: ToolRule): CompiledRule {
  const { tool, behavior, when, exact = false, source } = rule;
  if (typeof exact !== 'boolean') throw invalid('has an `exact` that is neither true nor false');
  if (typeof tool !== 'string' || tool === '') throw invalid('needs the name of a tool, or a glob');
  if (!BEHAVIORS.includes(behavior)) throw invalid("needs a behavior: 'allow', 'ask' or 'deny'");
  const name = attempt(() => new PathPattern(tool));
  const isAllowing = behavior === 'allow';
  const matchArguments =
    typeof when === 'function'
      ? ({ request }: RuleSubject): Match => (checkedResult(when(request)) ? 'yes' : 'no')
      : matcherOf(when === undefined ? {} : when, isAllowing);
  if (source !== undefined && typeof source !== 'string') throw invalid('has a source that is not a text');
  const sources = source === undefined ? undefined : attempt(() => new PathPattern(source));
  const isFrom = (origin: string): boolean =>
    sources?.matches([origin]) ?? (!isAllowing || !isForeign(origin));
  return {
    rule,
    match: (subject) => {
      const { call, tool: called } = subject.request;
      if (!name.matches([call.name]) || !isFrom(sourceOf(called))) return 'no';
      const hasOthers = exact && Object.keys(call.input).some((key) => !Object.hasOwn(when ?? {}, key));
      return hasOthers ? 'no' : matchArguments(subject);
    },
  };
}

/** Refuses other results of a `when` function, such as a promise, which would otherwise count as false. */
function checkedResult(holds: unknown): boolean {
  if (typeof holds === 'boolean') return holds;
  throw invalid('has a `when` that does not return true or false');
}

/** Parses a rule from JSON. @throws TroupeError if the rule is invalid. */
export function readRule(json: unknown): SavedToolRule {
  const { tool, behavior, when, exact, source } = attempt(() => copyJsonObject(json, 'a permission rule'));
  const rule = {
    tool,
    behavior,
    ...(source !== undefined && { source }),
    ...(when !== undefined && { when }),
    ...(exact !== undefined && { exact }),
  } as SavedToolRule & JsonValue;
  compileRule(rule);
  return rule;
}

type Matcher = (subject: RuleSubject) => Match;

function matcherOf(when: NonNullable<SavedToolRule['when']>, isAllowing: boolean): Matcher {
  if (!isJsonObject(when)) throw invalid('has a `when` that is neither an object nor a function');
  const matchers = Object.entries(when).map(([argument, match]) => {
    checkMatch(match);
    const ofValue = valueMatcher(match, isAllowing);
    const ofCommand = commandMatcher(match, isAllowing);
    return (subject: RuleSubject): Match => {
      const { request, base } = subject;
      if (subject.argument === argument) return ofCommand(subject);
      const { input } = request.call;
      return Object.hasOwn(input, argument) ? ofValue(input[argument] ?? null, base) : 'no';
    };
  });
  return (subject) => weakest(matchers.map((matcher) => matcher(subject)));
}

function checkMatch(match: unknown): void {
  if (typeof match !== 'object' || match === null) return;
  const [[kind, text] = [], ...others] = Object.entries(match);
  if (others.length > 0 || (kind !== 'glob' && kind !== 'regex' && kind !== 'prefix'))
    throw invalid('is refused: an argument is matched by a value, or by one of `glob`, `regex` and `prefix`');
  if (typeof text !== 'string' || text.trim() === '') throw invalid(`has a ${kind} that is not a text`);
}

/** Weakest result, because all conditions are required. */
function weakest(matches: readonly Match[]): Match {
  return matches.includes('no') ? 'no' : matches.includes('maybe') ? 'maybe' : 'yes';
}

function valueMatcher(
  match: ArgumentMatch,
  isAllowing: boolean,
): (value: JsonValue, base: string | undefined) => Match {
  if (typeof match !== 'object' || match === null) {
    const wanted = canonicalJson(match);
    return (value) => (canonicalJson(value) === wanted ? 'yes' : 'no');
  }
  const unfit = isAllowing ? 'no' : 'maybe';
  if ('prefix' in match) return () => unfit; // for commands only
  const fits = 'glob' in match ? pathMatcher(match.glob, isAllowing) : textMatcher(match.regex);
  // Some file systems ignore upper and lower case.
  const mayFit = 'glob' in match && !isAllowing ? pathMatcher(match.glob.toLowerCase(), false) : () => false;
  const ofText = (text: string, base: string | undefined): Match => {
    if (fits(text, base)) return 'yes';
    return mayFit(text.toLowerCase(), base?.toLowerCase()) ? 'maybe' : 'no';
  };
  return (value, base) => {
    const values = (Array.isArray(value) ? value : [value]) as readonly JsonValue[];
    const each = values.map((one) => (typeof one === 'string' ? ofText(one, base) : unfit));
    if (isAllowing) return each.length > 0 ? weakest(each) : 'no';
    return each.includes('yes') ? 'yes' : each.includes('maybe') ? 'maybe' : 'no';
  };
}

function commandMatcher(match: ArgumentMatch, isAllowing: boolean): (subject: RuleSubject) => Match {
  const unfit = isAllowing ? 'no' : 'maybe';
  const fits = commandTest(match, isAllowing) ?? (() => unfit);
  return ({ command }) => {
    if (command === undefined) return unfit;
    return isAllowing && !isPlainlySet(command) ? 'no' : fits(command);
  };
}

/** Undefined if the condition can't apply to commands, such as a number or a glob. */
function commandTest(
  match: ArgumentMatch,
  isAllowing: boolean,
): ((command: FoundCommand) => Match) | undefined {
  if (typeof match === 'string') {
    const words = exactWords(match);
    return words && ((command) => matchExact(words, command, isAllowing));
  }
  if (typeof match !== 'object' || match === null) return undefined;
  if ('prefix' in match) {
    const words = match.prefix.split(/\s+/).filter(Boolean);
    return (command) => matchPrefix(words, command, isAllowing);
  }
  if (!('regex' in match)) return undefined;
  const fits = textMatcher(match.regex);
  const unfit = isAllowing ? 'no' : 'maybe';
  return (command) => {
    const { words } = command;
    if (words.length === 0) return unfit;
    if (fits(commandText(command)) && (!isAllowing || words.every(({ isLiteral }) => isLiteral)))
      return 'yes';
    return words.some(({ hasUnknown }) => hasUnknown) ? unfit : 'no';
  };
}

function textMatcher(regex: string): (text: string) => boolean {
  const pattern = attempt(() => new LinePattern(regex));
  return (text) => pattern.test(text);
}

/**
 * Matches a path with a glob. Rules that allow match no path with `..`; other rules resolve the path first.
 */
function pathMatcher(glob: string, isAllowing: boolean): (path: string, base: string | undefined) => boolean {
  const pattern = attempt(() => new PathPattern(glob));
  const isAnywhere = glob.startsWith('**');
  const isAbsolute = glob.startsWith('/');
  return (path, base) => {
    const names = path
      .normalize('NFC')
      .split('/')
      .filter((name) => name !== '' && name !== '.');
    if (isAllowing && names.includes('..')) return false;
    const start = base === undefined ? [] : base.split('/').filter(Boolean);
    const isRelative = !path.startsWith('/');
    const full = resolve(isRelative ? [...start, ...names] : names);
    if (isAnywhere) return pattern.matches(full);
    if (isAbsolute) return pattern.matches(full) && (!isRelative || base !== undefined || !isAllowing);
    if (isRelative) return pattern.matches(resolve(names));
    if (base === undefined) return !isAllowing && pattern.matches(full);
    return start.every((name, i) => full[i] === name) && pattern.matches(full.slice(start.length));
  };
}

function resolve(names: readonly string[]): readonly string[] {
  const path: string[] = [];
  for (const name of names) {
    if (name === '..') path.pop();
    else path.push(name);
  }
  return path;
}

function attempt<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw invalid(`is refused: ${messageOf(error)}`, error);
  }
}

function invalid(problem: string, cause?: unknown): TroupeError {
  return new TroupeError('invalid_config', `A permission rule ${problem}.`, { cause });
}
