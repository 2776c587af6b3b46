import { messageOf, TroupeError } from '../errors.ts';
import { LinePattern } from '../filesystem/line-pattern.ts';
import { PathPattern } from '../filesystem/path-pattern.ts';
import { canonicalJson } from '../util/canonical-json.ts';
import { copyJsonObject, isJsonObject, type JsonValue } from '../util/json.ts';
import type { PermissionRequest } from './permission-policy.ts';
import type { PermissionBehavior } from './permission-table.ts';
import { exactWords, isPlainlySet, matchExact, matchPrefix, commandText } from './shell/match-command.ts';
import type { FoundCommand } from './shell/find-commands.ts';

/**
 * What an argument has to be: exactly a value; a path that fits a glob, by segments; a text in which a regular expression finds
 * something; or a shell command that begins with these words.
 */
export type ArgumentMatch =
  | string
  | number
  | boolean
  | null
  | { readonly glob: string }
  | { readonly regex: string }
  | { readonly prefix: string };

/** A rule that is JSON: it can be saved, and suggested to a person. */
export interface SavedPermissionRule {
  /** The name of a tool, or a glob such as `mcp_*`. */
  readonly tool: string;
  readonly behavior: PermissionBehavior;
  /** By argument. All of them have to be so. @default whatever the arguments are */
  readonly when?: { readonly [argument: string]: ArgumentMatch } | undefined;
}

/** What holds for some calls. Of several rules that hold, the strictest counts. */
export type PermissionRule =
  | SavedPermissionRule
  | (Omit<SavedPermissionRule, 'when'> & { readonly when: (request: PermissionRequest) => boolean });

/** Whether a rule holds. `maybe`: it can't be known. A rule that allows must hold; for others it is enough that it may. */
export type Match = 'yes' | 'maybe' | 'no';

/** What a rule is asked about: a call, or one command in one of its arguments. */
export interface RuleSubject {
  readonly request: PermissionRequest;
  /** The argument that the command is in. */
  readonly argument?: string | undefined;
  /** Undefined where the argument can't be read. */
  readonly command?: FoundCommand | undefined;
  /** Where relative paths begin, if that is known. */
  readonly base: string | undefined;
}

export interface CompiledRule {
  readonly rule: PermissionRule;
  match(subject: RuleSubject): Match;
}

const BEHAVIORS: readonly unknown[] = ['allow', 'ask', 'deny'];

/** @throws TroupeError if it is no rule. */
export function compileRule(rule: PermissionRule): CompiledRule {
  const { tool, behavior, when } = rule;
  if (typeof tool !== 'string' || tool === '') throw invalid('needs the name of a tool, or a glob');
  if (!BEHAVIORS.includes(behavior)) throw invalid("needs a behavior: 'allow', 'ask' or 'deny'");
  const name = attempt(() => new PathPattern(tool));
  const isAllowing = behavior === 'allow';
  const matchArguments =
    typeof when === 'function'
      ? ({ request }: RuleSubject): Match => (said(when(request)) ? 'yes' : 'no')
      : matcherOf(when === undefined ? {} : when, isAllowing);
  return {
    rule,
    match: (subject) => (name.matches([subject.request.call.name]) ? matchArguments(subject) : 'no'),
  };
}

/** What else a function gives, such as a promise, must not pass for a no: that would let the call through. */
function said(holds: unknown): boolean {
  if (typeof holds === 'boolean') return holds;
  throw invalid('has a `when` that says neither true nor false');
}

/** A rule that came as JSON. @throws TroupeError if it is none. */
export function readRule(json: unknown): SavedPermissionRule {
  const { tool, behavior, when } = attempt(() => copyJsonObject(json, 'a permission rule'));
  const rule = { tool, behavior, ...(when !== undefined && { when }) } as SavedPermissionRule & JsonValue;
  compileRule(rule);
  return rule;
}

type Matcher = (subject: RuleSubject) => Match;

function matcherOf(when: NonNullable<SavedPermissionRule['when']>, isAllowing: boolean): Matcher {
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
  if (typeof text !== 'string' || text.trim() === '') throw invalid(`has a ${kind} that is no text`);
}

/** All have to hold. */
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
  if ('prefix' in match) return () => unfit; // that is for commands
  const fits = 'glob' in match ? pathMatcher(match.glob, isAllowing) : textMatcher(match.regex);
  // Some file systems take the same name in capitals.
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

/** Undefined if no command can be so: it is no number, and no path. */
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
    return words.some(({ hasHole }) => hasHole) ? unfit : 'no';
  };
}

function textMatcher(regex: string): (text: string) => boolean {
  const pattern = attempt(() => new LinePattern(regex));
  return (text) => pattern.test(text);
}

/** Whether a path fits a glob. A rule that allows looks at no path with `..`; others look at where it leads. */
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
