import { describe, expect, test } from 'vitest';

import { parseSkill } from './parse-skill.ts';

const file = (yaml: string, body = 'Do it.'): string => `---\n${yaml}\n---\n${body}`;

describe('reads', () => {
  test.each<[string, string, object]>([
    [
      'a name, a description and instructions',
      file('name: pdf\ndescription: Fills in forms.\nlicense: MIT', '\n# How\n\nCarefully.\n'),
      { name: 'pdf', description: 'Fills in forms.', instructions: '# How\n\nCarefully.' },
    ],
    [
      'lines of any kind',
      '\uFEFF---  \r\nname: a\r\ndescription: b\r\n---\r\nc\r\n',
      { name: 'a', description: 'b', instructions: 'c' },
    ],
    [
      'no instructions',
      '---\nname: a\ndescription: b\n---',
      { name: 'a', description: 'b', instructions: '' },
    ],
    [
      'values as they are written',
      file('name: 007\ndescription: yes'),
      { name: '007', description: 'yes', instructions: 'Do it.' },
    ],
    [
      'a folded description on one line',
      file('name: a\ndescription: |\n  first\n  ## second\nmore: {x: [1, 2]}'),
      { name: 'a', description: 'first ## second', instructions: 'Do it.' },
    ],
    [
      'lines of dashes in the instructions',
      file('name: a\ndescription: b', 'one\n---\ntwo'),
      { name: 'a', description: 'b', instructions: 'one\n---\ntwo' },
    ],
  ])('%s', async (_, text, skill) => {
    expect(await parseSkill(text)).toEqual(skill);
  });
});

describe('refuses', () => {
  const front = 'must begin with front matter: a line ---, then YAML, then a line ---';
  const name = 'needs a name of 1 to 64 letters, digits, _ and - in its front matter';
  const described = 'description: b';
  test.each<[string, string, string | RegExp]>([
    ['nothing', '', front],
    ['no front matter', '# A skill\nname: a', front],
    ['front matter without an end', `---\nname: a\n${described}\n`, front],
    ['front matter that is not at the beginning', `\n${file(`name: a\n${described}`)}`, front],
    ['empty front matter', '---\n---\nx', front],
    ['no map', file('just text'), name],
    ['no name', file(described), name],
    ['a name that is a list', file(`name: [a]\n${described}`), name],
    ['an empty name', file(`name:\n${described}`), name],
    ...['..', '../x', 'a/b', 'a b', 'ä', '"a\\0b"', 'x'.repeat(65), '"%2e%2e"', '~', 'a.'].map(
      (one): [string, string, string] => [
        `the name ${one.slice(0, 9)}`,
        file(`name: ${one}\n${described}`),
        name,
      ],
    ),
    ['no description', file('name: a'), 'needs a description in its front matter'],
    ['a blank description', file('name: a\ndescription: "  "'), 'needs a description in its front matter'],
    [
      'a long description',
      file(`name: a\ndescription: ${'x'.repeat(1025)}`),
      'has a description of more than 1024 characters',
    ],
    [
      'much front matter',
      file(`name: a\n${described}\nx: ${'y'.repeat(16_384)}`),
      'has front matter of more than 16384 characters',
    ],
    ['broken YAML', file('name: [a'), /^has front matter that is not plain YAML \([A-Z_]+\)$/],
    [
      'the same key twice',
      file(`name: a\nname: c\n${described}`),
      'has front matter that is not plain YAML (DUPLICATE_KEY)',
    ],
    [
      'a tag',
      file(`name: !!js/function "function () {}"\n${described}`),
      'has front matter that is not plain YAML (TAG_RESOLVE_FAILED)',
    ],
    [
      'a tag of its own',
      file(`name: a\n${described}\nx: !run id`),
      'has front matter that is not plain YAML (TAG_RESOLVE_FAILED)',
    ],
    ['a reference', file(`name: &n a\ndescription: *n`), 'has front matter that is not plain YAML'],
    [
      'a bomb',
      file(`name: a\n${described}\na: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]`),
      'has front matter that is not plain YAML',
    ],
    [
      'a deep one',
      file(`name: a\n${described}\nx: ${'['.repeat(8000)}`),
      /^has front matter that is not plain YAML/,
    ],
  ])('%s', async (_, text, problem) => {
    const error = (await parseSkill(text).catch((thrown: unknown) => thrown)) as Error;
    expect(error).toMatchObject({ code: 'invalid_skill' });
    const said = error.message.replace(/^SKILL\.md /, '').replace(/\.$/, '');
    if (typeof problem === 'string') expect(said).toBe(problem);
    else expect(said).toMatch(problem);
  });

  test('nothing by running it, and no prototype is touched', async () => {
    const skill = await parseSkill(file(`name: a\n${described}\n__proto__:\n  polluted: yes`));
    expect([skill.name, ({} as Record<string, unknown>)['polluted']]).toEqual(['a', undefined]);
  });

  test('a large file in no time', async () => {
    await expect(parseSkill(`---\n${'\r\n-- '.repeat(60_000)}`)).rejects.toThrow(front);
  });
});
