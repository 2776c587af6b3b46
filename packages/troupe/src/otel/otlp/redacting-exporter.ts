import type { Attributes } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';

import type { Redactor } from '../../model/wrappers/redactor.ts';

/**
 * Passes spans on with all texts redacted: those of this library, and those of other instrumentations of the program, which know
 * nothing of secrets.
 */
export class RedactingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #redactor: Redactor;

  constructor(exporter: SpanExporter, redactor: Redactor) {
    this.#exporter = exporter;
    this.#redactor = redactor;
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    this.#exporter.export(
      spans.map((span) => this.#redacted(span)),
      done,
    );
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  /** A view of the span: a span has methods and private fields, so a copy would lose some. */
  #redacted(span: ReadableSpan): ReadableSpan {
    const { message } = span.status;
    const redacted = {
      name: this.#redactor.text(span.name),
      attributes: this.#attributes(span.attributes),
      status: { ...span.status, ...(message !== undefined && { message: this.#redactor.text(message) }) },
      events: span.events.map((event) => ({
        ...event,
        name: this.#redactor.text(event.name),
        ...(event.attributes && { attributes: this.#attributes(event.attributes) }),
      })),
      links: span.links.map((link) => ({
        ...link,
        ...(link.attributes && { attributes: this.#attributes(link.attributes) }),
      })),
    };
    return new Proxy(span, {
      get: (target, key) =>
        Reflect.get(Object.hasOwn(redacted, key) ? redacted : target, key, target) as unknown,
    });
  }

  #attributes(attributes: Attributes): Attributes {
    const texts: Attributes = {};
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value === 'string') texts[key] = this.#redactor.text(value);
      else if (Array.isArray(value))
        texts[key] = value.map((item) =>
          typeof item === 'string' ? this.#redactor.text(item) : item,
        ) as string[];
      else if (value !== undefined) texts[key] = value;
    }
    return texts;
  }
}
