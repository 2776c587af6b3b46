import { Plus, Trash2 } from 'lucide-react';
import { useId, useState, type ReactNode } from 'react';
import type { JsonValue } from 'troupe';

import { encoded } from '../encoded.ts';
import type { FieldProblem } from '../../../src/protocol.ts';
import { useText } from '../i18n/use-text.ts';
import { ErrorBoundary } from '../parts/error-boundary.tsx';
import {
  fromControl,
  initialValue,
  isObject,
  isSameJson,
  toControl,
  withKey,
  type FormField,
} from './form-field.ts';

type Path = readonly (string | number)[];

interface FieldProps {
  readonly field: FormField;
  readonly name: string;
  readonly value: JsonValue | undefined;
  /** Value before the person changed something, to mark changes. */
  readonly before?: JsonValue | undefined;
  readonly onChange: (value: JsonValue | undefined) => void;
  readonly path: Path;
  readonly problems: readonly FieldProblem[];
  readonly isRequired: boolean;
  readonly isMarked: boolean;
}

/** Id of the control of a field, so that a summary of problems can link to it. */
export function fieldId(prefix: string, path: Path): string {
  return `${prefix}-${path.map((part) => encoded(String(part)).replaceAll('%', '_')).join('-')}`;
}

interface SchemaFormProps {
  readonly id: string;
  readonly field: FormField;
  readonly value: JsonValue | undefined;
  readonly before?: JsonValue;
  readonly onChange: (value: JsonValue | undefined) => void;
  readonly problems: readonly FieldProblem[];
}

/** A form for a value of a schema. The server checks the value; its problems are shown beside their fields. */
export function SchemaForm({ id, field, value, before, onChange, problems }: SchemaFormProps) {
  const inner = field.kind === 'object' ? field : undefined;
  if (inner === undefined)
    return (
      <Field
        field={field}
        name=""
        value={value}
        before={before}
        onChange={onChange}
        path={[id]}
        problems={prefixed(problems, id)}
        isRequired
        isMarked={before !== undefined}
      />
    );
  return (
    <div className="form">
      {inner.fields.map((one) => (
        <Field
          key={one.name}
          field={one.field}
          name={one.name}
          value={isObject(value) ? value[one.name] : undefined}
          before={isObject(before) ? before[one.name] : undefined}
          onChange={(part) => onChange(withKey(value, one.name, part))}
          path={[id, one.name]}
          problems={prefixed(problems, id)}
          isRequired={one.isRequired}
          isMarked={before !== undefined}
        />
      ))}
    </div>
  );
}

function prefixed(problems: readonly FieldProblem[], id: string): readonly FieldProblem[] {
  return problems.map((problem) => ({ ...problem, path: [id, ...problem.path] }));
}

function Field(props: FieldProps) {
  const t = useText();
  const { field, name, value, before, onChange, path, problems, isRequired, isMarked } = props;
  const id = fieldId('field', path);
  const own = problems.filter(
    (problem) =>
      problem.path.length === path.length &&
      problem.path.every((part, at) => String(part) === String(path[at])),
  );
  const isUnset = value === undefined || value === null;
  const isChanged = isMarked && !isSameJson(value, before);
  const label = field.title ?? name;
  const isSimple = field.kind !== 'object' && field.kind !== 'list' && field.kind !== 'union';
  const errorId = `${id}-error`;
  const control: ControlProps = { id, value, onChange, isInvalid: own.length > 0, errorId };
  const body = (
    <ErrorBoundary>
      <FieldBody {...props} control={control} />
    </ErrorBoundary>
  );
  const notes = (
    <>
      {field.description !== undefined && <p className="field-help">{field.description}</p>}
      {own.map((problem, index) => (
        <p key={index} className="field-error" id={errorId}>
          ✕ {problem.message}
        </p>
      ))}
    </>
  );
  const state = (
    <span className="field-state">
      {isChanged && <span className="tag changed">{t.changed}</span>}
      {value === undefined && isRequired && <span className="tag">{t.required}</span>}
      {isUnset && !(value === undefined && isRequired) && <span className="tag quiet">{t.notSet}</span>}
      {!isUnset && !isRequired && field.kind !== 'constant' && (
        <button type="button" className="link" onClick={() => onChange(undefined)}>
          {t.unset}
        </button>
      )}
    </span>
  );
  if (!isSimple)
    return (
      <fieldset className="field" data-changed={isChanged} id={id}>
        <legend>
          {label} {state}
        </legend>
        {notes}
        {body}
      </fieldset>
    );
  return (
    <div className="field" data-changed={isChanged} data-kind={field.kind}>
      <div className="field-head">
        <label htmlFor={id}>{label}</label> {state}
      </div>
      {notes}
      {body}
    </div>
  );
}

interface ControlProps {
  readonly id: string;
  readonly value: JsonValue | undefined;
  readonly onChange: (value: JsonValue | undefined) => void;
  readonly isInvalid: boolean;
  readonly errorId: string;
}

function FieldBody({ control, ...props }: FieldProps & { control: ControlProps }): ReactNode {
  const t = useText();
  const { field, value, before, onChange, path, problems, isMarked } = props;
  const { id, isInvalid, errorId } = control;
  const aria = { 'aria-invalid': isInvalid, ...(isInvalid && { 'aria-describedby': errorId }) };
  switch (field.kind) {
    case 'text': {
      const text = typeof value === 'string' ? value : '';
      if (field.isLong || text.length > 80 || text.includes('\n'))
        return (
          <textarea
            id={id}
            rows={4}
            value={text}
            onChange={(event) => onChange(event.target.value)}
            {...aria}
          />
        );
      return (
        <input
          id={id}
          type={field.format}
          step={field.format === 'time' || field.format === 'datetime-local' ? 1 : undefined}
          value={toControl(field.format, text)}
          onChange={(event) => onChange(fromControl(field.format, event.target.value))}
          {...aria}
        />
      );
    }
    case 'number':
      return (
        <input
          id={id}
          type="number"
          step={field.isInteger ? 1 : 'any'}
          min={field.min}
          max={field.max}
          value={typeof value === 'number' ? value : ''}
          onChange={(event) => onChange(event.target.value === '' ? undefined : Number(event.target.value))}
          {...aria}
        />
      );
    case 'boolean':
      return (
        <label className="check">
          <input
            id={id}
            type="checkbox"
            checked={value === true}
            onChange={(event) => onChange(event.target.checked)}
            {...aria}
          />
          {value === true ? t.yes : t.no}
        </label>
      );
    case 'choice':
      return (
        <select
          id={id}
          value={value === undefined ? '' : JSON.stringify(value)}
          onChange={(event) =>
            onChange(field.options.find((option) => JSON.stringify(option) === event.target.value))
          }
          {...aria}
        >
          <option value="">{t.choose}</option>
          {field.options.map((option) => (
            <option key={JSON.stringify(option)} value={JSON.stringify(option)}>
              {typeof option === 'string' ? option : JSON.stringify(option)}
            </option>
          ))}
        </select>
      );
    case 'constant':
      return <output id={id}>{JSON.stringify(field.value)}</output>;
    case 'object':
      if (!isObject(value))
        return (
          <button type="button" className="button small" onClick={() => onChange(initialValue(field) ?? {})}>
            <Plus size={12} aria-hidden /> {t.set}
          </button>
        );
      return field.fields.map((one) => (
        <Field
          key={one.name}
          field={one.field}
          name={one.name}
          value={value[one.name]}
          before={isObject(before) ? before[one.name] : undefined}
          onChange={(part) => onChange(withKey(value, one.name, part))}
          path={[...path, one.name]}
          problems={problems}
          isRequired={one.isRequired}
          isMarked={isMarked}
        />
      ));
    case 'list':
      return <ListField {...props} item={field.item} />;
    case 'union':
      return <UnionField {...props} variants={field.variants} />;
    case 'json':
      return <JsonField control={control} />;
  }
}

function ListField({ item, ...props }: FieldProps & { item: FormField }) {
  const t = useText();
  const { value, before, onChange, path, problems, isMarked, name } = props;
  const items: readonly JsonValue[] = Array.isArray(value) ? value : [];
  const old: readonly JsonValue[] = Array.isArray(before) ? before : [];
  return (
    <div className="field-list">
      {items.map((one, index) => (
        <div key={index} className="field-item">
          <Field
            field={item}
            name={`${name} ${index + 1}`}
            value={one}
            before={old[index]}
            onChange={(part) => onChange(items.map((other, at) => (at === index ? (part ?? null) : other)))}
            path={[...path, index]}
            problems={problems}
            isRequired
            isMarked={isMarked}
          />
          <button
            type="button"
            className="icon-button"
            aria-label={t.removeItem(index + 1)}
            onClick={() => onChange(items.filter((_, at) => at !== index))}
          >
            <Trash2 size={14} aria-hidden />
          </button>
        </div>
      ))}
      <button
        type="button"
        className="button small"
        onClick={() => onChange([...items, initialValue(item) ?? emptyOf(item)])}
      >
        <Plus size={12} aria-hidden /> {t.addItem}
      </button>
    </div>
  );
}

function emptyOf(field: FormField): JsonValue {
  if (field.kind === 'text') return '';
  if (field.kind === 'boolean') return false;
  return field.kind === 'list' ? [] : null;
}

function UnionField({ variants, ...props }: FieldProps & { variants: readonly FormField[] }) {
  const t = useText();
  const [chosen, setChosen] = useState(() =>
    Math.max(
      0,
      variants.findIndex((variant) => fits(variant, props.value)),
    ),
  );
  const id = useId();
  const variant = variants[chosen];
  return (
    <div className="field-union">
      <select
        aria-label={t.variant}
        id={id}
        value={chosen}
        onChange={(event) => {
          const next = Number(event.target.value);
          setChosen(next);
          const picked = variants[next];
          props.onChange(picked && initialValue(picked));
        }}
      >
        {variants.map((one, index) => (
          <option key={index} value={index}>
            {one.title ?? labelOf(one)}
          </option>
        ))}
      </select>
      {variant !== undefined && (
        <Field {...props} field={variant} name={variant.title ?? props.name} isRequired />
      )}
    </div>
  );
}

/** Label of a variant without a title: the names of its fields, or its kind. */
function labelOf(variant: FormField): string {
  if (variant.kind === 'constant') return JSON.stringify(variant.value);
  return variant.kind === 'object' ? variant.fields.map(({ name }) => name).join(', ') : variant.kind;
}

function fits(field: FormField, value: JsonValue | undefined): boolean {
  switch (field.kind) {
    case 'text':
      return typeof value === 'string';
    case 'number':
      return typeof value === 'number';
    case 'boolean':
      return typeof value === 'boolean';
    case 'list':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    default:
      return false;
  }
}

/** JSON by hand, for schemas without a form. */
export function JsonField({ control }: { control: ControlProps }) {
  const t = useText();
  const { id, value, onChange } = control;
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)));
  const [isBroken, setBroken] = useState(false);
  const change = (next: string): void => {
    setText(next);
    try {
      onChange(next.trim() === '' ? undefined : (JSON.parse(next) as JsonValue));
      setBroken(false);
    } catch {
      setBroken(true);
    }
  };
  return (
    <>
      <p className="field-help">{t.jsonField}</p>
      <textarea
        id={id}
        className="mono"
        rows={6}
        value={text}
        onChange={(event) => change(event.target.value)}
        aria-invalid={isBroken}
      />
      {isBroken && <p className="field-error">✕ {t.brokenJson}</p>}
    </>
  );
}
