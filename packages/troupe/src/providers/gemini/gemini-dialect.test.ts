import { expect, test } from 'vitest';
import { geminiDialectOf } from './gemini-dialect.ts';

const HOME = 'https://generativelanguage.googleapis.com';
const VERTEX = 'https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google';

const NEW = { hasIds: true, needsSignature: true, takesSystem: true, takesPenalties: true };
const OLD = { ...NEW, hasIds: false, needsSignature: false };
const level = (least: 'minimal' | 'low') => ({ thinking: { by: 'level', least } });
const budget = (least: number) => ({ thinking: { by: 'budget', least } });

test.each([
  ['gemini-3-pro-preview', { ...NEW, ...level('low') }],
  ['models/gemini-3.1-pro-preview', { ...NEW, ...level('low') }],
  ['gemini-3-flash-preview', { ...NEW, ...level('minimal') }],
  ['gemini-3.6-flash', { ...NEW, ...level('minimal') }],
  ['gemini-3.7-flash', { ...NEW, ...level('low') }],
  ['gemini-3.7-flash-lite', { ...NEW, ...level('minimal') }],
  ['gemini-12-ultra', { ...NEW, ...level('low') }],
  ['gemini-flash-latest', { ...NEW, ...level('low') }],
  ['gemini-2.5-flash', { ...OLD, takesPenalties: false, ...budget(0) }],
  ['gemini-2.5-pro', { ...OLD, takesPenalties: false, ...budget(128) }],
  ['gemini-2.0-flash', { ...OLD, thinking: undefined }],
  ['gemini-1.5-pro-latest', { ...OLD, thinking: undefined }],
  ['gemini-pro', { ...OLD, thinking: undefined }],
  ['gemma-3-27b-it', { ...OLD, takesSystem: false, thinking: undefined }],
])('%s is known by its name', (modelName, dialect) => {
  expect(geminiDialectOf(modelName, HOME)).toEqual(dialect);
});

test('behind Vertex AI there are no ids, but penalties', () => {
  expect(geminiDialectOf('gemini-3-pro-preview', VERTEX)).toEqual({ ...NEW, hasIds: false, ...level('low') });
  expect(geminiDialectOf('gemini-2.5-flash', VERTEX)).toEqual({ ...OLD, ...budget(0) });
});
