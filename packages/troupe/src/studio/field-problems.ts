import type { SchemaProblem } from '../util/schema.ts';
import type { FieldProblem } from './program-protocol.ts';

const MISSING = /^Instance does not have required property "(.+)"\.$/s;

/** Problems of a value by field: each has its path as a list, and a missing field is a problem of that field. */
export function fieldProblems(problems: readonly SchemaProblem[]): FieldProblem[] {
  return problems.map(({ path, message }) => {
    const steps = stepsOf(path);
    const missing = MISSING.exec(message)?.[1];
    return missing === undefined
      ? { path: steps, message }
      : { path: [...steps, missing], message: 'A value is missing.' };
  });
}

/** Path of a problem (`a.b[2]`) as a list. */
function stepsOf(path: string): (string | number)[] {
  return path
    .split(/[.[\]]/)
    .filter((step) => step !== '')
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}
