import { expect, test } from 'vitest';

import { PartialArgs } from './partial-args.ts';

test('values stand at their paths, and texts are joined', () => {
  const args = new PartialArgs();
  for (const part of [
    { jsonPath: '$.city', stringValue: 'Li' },
    { jsonPath: '$.city', stringValue: 'ma', willContinue: true },
    { jsonPath: '$.city', stringValue: '' },
    { jsonPath: '$.days[1].n', numberValue: 2 },
    { jsonPath: '$.days[0].n', numberValue: 1.5 },
    { jsonPath: "$['is it.so']", boolValue: false },
    { jsonPath: '$["none\\"s"]', nullValue: 'NULL_VALUE' },
    { jsonPath: '$.tags[0]', stringValue: 'a' },
    { jsonPath: '$.__proto__.x', stringValue: 'own' },
  ])
    args.add(part);
  expect(JSON.parse(args.json)).toEqual(
    JSON.parse(
      '{"city":"Lima","days":[{"n":1.5},{"n":2}],"is it.so":false,"none\\"s":null,"tags":["a"],"__proto__":{"x":"own"}}',
    ),
  );
});

test('no parts are no arguments', () => {
  expect(new PartialArgs().json).toBe('{}');
});
