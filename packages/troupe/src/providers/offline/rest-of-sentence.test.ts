import { expect, test } from 'vitest';

import { restOfSentence } from './rest-of-sentence.ts';

const weather = { name: 'get_weather', description: 'The weather of a city.', parameters: {} };
const search = { name: 'web_search', description: 'Searches the web.', parameters: {} };

test.each([
  ['What is the weather in Paris?', weather, 'Paris'],
  ['Paris weather', weather, 'Paris'],
  ["Hi! What's the weather like in New York, please?", weather, 'New York, please'],
  ['search the web for cute cats.', search, 'cute cats'],
  ['search for web servers', search, 'web servers'],
  ['weather?', weather, undefined],
  ['weather in "Rome"', weather, undefined],
  ['', weather, undefined],
  ['Something else entirely', weather, 'Something else entirely'],
])('the rest of %j', (text, tool, rest) => {
  expect(restOfSentence(text, tool)).toBe(rest);
});
