// For the tests: a receiver of OTLP over HTTP with protobuf, decoded by the message definitions of the protocol.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

import protobuf from 'protobufjs';

/** The part of opentelemetry/proto/trace/v1/trace.proto and of common/v1/common.proto that spans use. */
const PROTO = `
syntax = "proto3";
message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
message Scope { string name = 1; string version = 2; }
message Status { string message = 2; int32 code = 3; }
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
  repeated Event events = 11; Status status = 15;
}
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
`;

interface WireValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: number;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values: readonly WireValue[] };
}

interface WireAttribute {
  readonly key: string;
  readonly value: WireValue;
}

interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes?: readonly WireAttribute[];
  readonly events?: readonly { readonly name: string; readonly attributes?: readonly WireAttribute[] }[];
  readonly status?: { readonly code?: number; readonly message?: string };
}

interface WireRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly WireAttribute[] };
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string };
      readonly spans: readonly WireSpan[];
    }[];
  }[];
}

/** A span as it arrived. */
export interface ReceivedSpan {
  readonly service: unknown;
  readonly scope: string;
  readonly name: string;
  readonly id: string;
  readonly parent: string | undefined;
  readonly trace: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly wire: WireSpan;
}

export class OtlpReceiver implements AsyncDisposable {
  readonly spans: ReceivedSpan[] = [];
  readonly requests: { readonly path: string | undefined; readonly headers: IncomingHttpHeaders }[] = [];
  url = '';
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      this.requests.push({ path: request.url, headers: request.headers });
      if (this.#behavior === 'hang') return;
      if (this.#behavior === 'fail') return void response.writeHead(400).end();
      const body = Buffer.concat(chunks);
      this.#take(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body);
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  readonly #type = protobuf.parse(PROTO).root.lookupType('ExportTraceServiceRequest');
  readonly #behavior: 'take' | 'fail' | 'hang';

  private constructor(behavior: 'take' | 'fail' | 'hang') {
    this.#behavior = behavior;
  }

  static async listen(behavior: 'take' | 'fail' | 'hang' = 'take'): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver(behavior);
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    receiver.url = `http://127.0.0.1:${(receiver.#server.address() as AddressInfo).port}/v1/traces`;
    return receiver;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(body: Uint8Array): void {
    const decoded = this.#type.decode(body);
    const { resourceSpans } = this.#type.toObject(decoded, { longs: Number, bytes: String }) as WireRequest;
    for (const { resource, scopeSpans } of resourceSpans)
      for (const { scope, spans } of scopeSpans)
        for (const wire of spans)
          this.spans.push({
            service: tableOf(resource.attributes)['service.name'],
            scope: scope.name,
            name: wire.name,
            id: wire.spanId,
            parent: wire.parentSpanId === '' ? undefined : wire.parentSpanId,
            trace: wire.traceId,
            attributes: tableOf(wire.attributes),
            wire,
          });
  }
}

function tableOf(attributes: readonly WireAttribute[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf({ arrayValue, ...value }: WireValue): unknown {
  return arrayValue === undefined ? Object.values(value)[0] : arrayValue.values.map(valueOf);
}
