import type * as Yaml from 'yaml';

import { TroupeError } from '../errors.ts';
import { isJsonObject } from '../util/json.ts';
import { oneLine } from '../util/text.ts';

/** Content of a `SKILL.md`. */
export interface SkillText {
  readonly name: string;
  /** Purpose of the skill in one line, without invisible characters. */
  readonly description: string;
  /** Text after the front matter. */
  readonly instructions: string;
}

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_FRONT_MATTER_CHARS = 16_384;
const MAX_DESCRIPTION_CHARS = 1024;
/** Characters that start a line, change the writing direction or are invisible. */
const INVISIBLE = /[\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]+/gu;

/**
 * Parses a `SKILL.md`. The YAML front matter may contain plain texts, lists and maps only; tags and aliases
 * are refused.
 * @throws TroupeError
 */
export async function parseSkill(text: string): Promise<SkillText> {
  const [whole = '', yaml] = FRONT_MATTER.exec(text) ?? [];
  if (yaml === undefined) refuse('must begin with front matter: a line ---, then YAML, then a line ---');
  if (yaml.length > MAX_FRONT_MATTER_CHARS)
    refuse(`has front matter of more than ${MAX_FRONT_MATTER_CHARS} characters`);
  const fields = await parseYaml(yaml);
  const { name, description } = isJsonObject(fields) ? fields : {};
  if (typeof name !== 'string' || !NAME.test(name))
    refuse('needs a name of 1 to 64 letters, digits, _ and - in its front matter');
  if (typeof description !== 'string') refuse('needs a description in its front matter');
  if (description.length > MAX_DESCRIPTION_CHARS)
    refuse(`has a description of more than ${MAX_DESCRIPTION_CHARS} characters`);
  const line = oneLine(description.replace(INVISIBLE, ' ')).toWellFormed().trim();
  if (line === '') refuse('needs a description in its front matter');
  return { name, description: line, instructions: text.slice(whole.length).trim() };
}

async function parseYaml(text: string): Promise<unknown> {
  const { parseDocument } = await loadYaml();
  try {
    // With this schema every scalar is a text, so that names such as 007 or `yes` stay unchanged.
    const options = { version: '1.2', schema: 'failsafe', merge: false, stringKeys: true } as const;
    const document = parseDocument(text, { ...options, prettyErrors: false, logLevel: 'silent' });
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw problem;
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    return refuse(`has front matter that is not plain YAML${code}`, error);
  }
}

async function loadYaml(): Promise<typeof Yaml> {
  try {
    return await import('yaml');
  } catch (cause) {
    throw new TroupeError('invalid_config', 'Skills need the package yaml: npm install yaml.', { cause });
  }
}

function refuse(problem: string, cause?: unknown): never {
  throw new TroupeError('invalid_skill', `SKILL.md ${problem}.`, { cause });
}
