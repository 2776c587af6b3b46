import { expect, test } from 'vitest';

import { bulletPoints, dataText } from './data-text.ts';

test('data is readable text: texts and lists behind their key, the rest as bullet points below it', () => {
  const data = {
    city: 'Rome',
    days: 3,
    isBooked: false,
    hotel: null,
    wishes: ['museums', 'food'],
    guests: [{ name: 'Ann', age: 30 }, { name: 'Bob' }],
    route: { by: 'train', stops: { first: 'Milan', others: [['Pisa'], ['Siena', 'Florence']] } },
  };
  expect(dataText(data)).toBe(
    [
      'city: Rome',
      'days: 3',
      'isBooked: false',
      'hotel: null',
      'wishes: museums, food',
      'guests:',
      '-',
      '  - name: Ann',
      '  - age: 30',
      '-',
      '  - name: Bob',
      'route:',
      '- by: train',
      '- stops:',
      '  - first: Milan',
      '  - others:',
      '    - Pisa',
      '    - Siena, Florence',
    ].join('\n'),
  );
});

test('a text of several lines stays as it is, indented below its key', () => {
  expect(bulletPoints({ code: 'if (a) {\n  b();\n}', 'a\nkey': 'x' })).toBe(
    '- code:\n  if (a) {\n    b();\n  }\n- a key: x',
  );
});
