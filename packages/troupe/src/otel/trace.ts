import { outcomeOfError, startSpan, type SafeSpan } from '../tracing/instrumentation.ts';

/**
 * Wraps a function of the program so that each call of it is a span, `invoke_generic_function <name>`: until it returns, its promise
 * settles, or its generator is used up. Arguments and result are on the span only with `captureContent`. Without tracing, the
 * function is called as it is.
 *
 * @example
 * ```ts
 * import { trace } from 'troupe/tracing';
 *
 * const lookUp = trace('look up', async (city: string) => `${city}: sunny`);
 * console.log(await lookUp('Lisbon')); // Lisbon: sunny
 * ```
 */
export function trace<This, Args extends unknown[], Result>(
  name: string,
  fn: (this: This, ...args: Args) => Result,
): (this: This, ...args: Args) => Result {
  return function (this: This, ...args: Args): Result {
    const call = (): Result => fn.apply(this, args);
    const span = startSpan(() => ({ type: 'function', name, input: args }));
    return span === undefined ? call() : spanned(span, call);
  };
}

function spanned<Result>(span: SafeSpan, call: () => Result): Result {
  let result: Result;
  try {
    result = span.run(call);
  } catch (error) {
    span.end(outcomeOfError(error));
    throw error;
  }
  if (result instanceof Promise) endWith(span, result);
  else if (isGenerator(result)) endWithGenerator(span, result);
  else span.end({ status: 'ok', output: result });
  return result;
}

function endWith(span: SafeSpan, promise: Promise<unknown>): void {
  promise.then(
    (output) => span.end({ status: 'ok', output }),
    (error: unknown) => span.end(outcomeOfError(error)),
  );
}

type AnyGenerator = Generator | AsyncGenerator;

function isGenerator(value: unknown): value is AnyGenerator {
  return (
    typeof value === 'object' && value !== null && 'next' in value && 'return' in value && 'throw' in value
  );
}

/** Has each step of a generator run inside of the span, which ends with the generator. The last item is the output. */
function endWithGenerator(span: SafeSpan, generator: AnyGenerator): void {
  let output: unknown;
  const take = ({ done = false, value }: IteratorResult<unknown>): void => {
    if (!done) output = value;
    else span.end({ status: 'ok', output });
  };
  const failed = (error: unknown): void => span.end(outcomeOfError(error));
  for (const method of ['next', 'return', 'throw'] as const) {
    const step = generator[method].bind(generator) as (...args: unknown[]) => unknown;
    const value = (...args: unknown[]): unknown => {
      try {
        const result = span.run(() => step(...args));
        if (result instanceof Promise) result.then(take, failed);
        else take(result as IteratorResult<unknown>);
        return result;
      } catch (error) {
        failed(error);
        throw error;
      }
    };
    Object.defineProperty(generator, method, { value, writable: true, configurable: true });
  }
}
