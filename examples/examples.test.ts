import { readdirSync } from 'node:fs';

import { describe, expect, test } from 'vitest';

import { canRunExamples, runExample } from './run-example.ts';

/** A line that each example prints. The chat, the service and the Studio have tests of their own. */
const LINES: Readonly<Record<string, string>> = {
  a2a: 'travel > travel-agent asks for book_hotel {"city":"Lisbon"}: It costs money.',
  approval: 'What was allowed ran once, and the rest did not.',
  'ask-user': 'Every question was asked once, and answered after its process was killed.',
  'auto-context': 'reader: It is under the blue stone.',
  'auto-memory': '(The conversation goes on.)',
  browser: 'The page, its events, an approval after a restart, and Stop work.',
  'coding-agent': 'edit_file -> ok',
  handoff: 'repairs: Send the lamp to us, and we mend it.',
  'interrupt-and-steer': 'painter: All right, I put the brush down.',
  'killed-chat': 'Nothing was lost, and nothing was done twice.',
  knowledge: 'Every answer names its document, and reading the folder again changes nothing.',
  mcp: 'the server offers: get_weather',
  'parallel-tools': '  Neverland: "TimeoutError: The tool gave no result within 0.6 s."',
  plan: '  - [ ] [WIP]insurance',
  remembering: 'Three runs, one memory: what changed was replaced.',
  skills: 'make_slug ok: "making-of-troupe"',
  'speaking-weather': 'Friday has spoken.',
  'structured-output': 'We go to Bergen for 2 nights and take: umbrella, boots.',
  'sub-agents': 'supervisor: About 17000 hours.',
  'talking-page': 'A sound was answered aloud, and the answer was interrupted by another sound.',
  'tool-groups': '  send_mail {"to":"press@news.example","text":"Guess what!"}: denied',
  tracing: '          invoke_generic_function read station',
  'voice-room': 'Alice and Bob have met.',
  weather: '  <- error: "Error: There is no weather station in Atlantis."',
};

test('every example is tested', () => {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  const stories = folders
    .map(({ name }) => name)
    .filter((name) => !['chat', 'service', 'studio', 'node_modules'].includes(name));
  expect(stories.toSorted()).toEqual(Object.keys(LINES));
});

describe.runIf(canRunExamples)('the example', () => {
  test.concurrent.each(Object.entries(LINES))('%s runs to a good end', async (story, line) => {
    const { output, errors, code } = await runExample(story);
    expect([errors, code]).toEqual(['', 0]);
    expect(output.split('\n')).toContain(line);
  });
});
