import { TroupeError } from '../errors.ts';
import type { ChunkMetadata, MetadataValue } from '../document/chunk.ts';

/** Range of a number. */
export interface NumberRange {
  readonly gte?: number | undefined;
  readonly gt?: number | undefined;
  readonly lte?: number | undefined;
  readonly lt?: number | undefined;
}

/**
 * Condition on metadata: every field has the value, one of the values, or a number in the range. A field that a
 * chunk does not have never matches. Names and values are data for every store, whatever they contain.
 */
export type ChunkFilter = Readonly<Record<string, MetadataValue | readonly MetadataValue[] | NumberRange>>;

/** One condition of a filter, in a form that stores translate. */
export type FieldCondition =
  | { readonly field: string; readonly kind: 'in'; readonly values: readonly MetadataValue[] }
  | { readonly field: string; readonly kind: 'range'; readonly range: NumberRange };

const BOUNDS = ['gte', 'gt', 'lte', 'lt'] as const;

/** Conditions of a filter, all of which must hold. @throws TroupeError if it is no filter */
export function conditionsOf(filter: ChunkFilter = {}): readonly FieldCondition[] {
  return Object.entries(filter).map(([field, condition]) => {
    checkStoredText('A filter field', field);
    if (Array.isArray(condition) || typeof condition !== 'object') {
      const values: readonly unknown[] = Array.isArray(condition) ? condition : [condition];
      return { field, kind: 'in', values: values.map((value) => checkValue(field, value)) };
    }
    const range = condition as NumberRange;
    const isRange =
      range !== null &&
      Object.keys(range).length > 0 &&
      Object.entries(range).every(
        ([bound, value]) => BOUNDS.some((known) => known === bound) && Number.isFinite(value),
      );
    if (isRange) return { field, kind: 'range', range };
    throw new TroupeError(
      'invalid_config',
      'A filter has values, lists of values, or ranges { gte, gt, lte, lt } of numbers.',
    );
  });
}

/** Whether metadata match a filter: the meaning that all stores share. */
export function matchesFilter(metadata: ChunkMetadata, conditions: readonly FieldCondition[]): boolean {
  return conditions.every((condition) => {
    const value = Object.hasOwn(metadata, condition.field) ? metadata[condition.field] : undefined;
    if (condition.kind === 'in') return condition.values.some((one) => one === value);
    if (typeof value !== 'number') return false;
    const { gte = -Infinity, gt = -Infinity, lte = Infinity, lt = Infinity } = condition.range;
    return value >= gte && value > gt && value <= lte && value < lt;
  });
}

function checkValue(field: string, value: unknown): MetadataValue {
  if (typeof value === 'string') return checkStoredText('A filter value', value);
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)))
    return value === 0 ? 0 : value;
  throw new TroupeError(
    'invalid_config',
    `The filter for '${field.slice(0, 64)}' has a value that is no string, number or boolean.`,
  );
}

/** Checks a text that every store can keep and compare exactly. @throws TroupeError */
export function checkStoredText(what: string, text: unknown): string {
  if (typeof text === 'string' && !text.includes('\0') && text.isWellFormed()) return text;
  throw new TroupeError(
    'invalid_config',
    `${what} must be a string without NUL and without half characters.`,
  );
}
