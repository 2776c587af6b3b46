import type * as Api from '@opentelemetry/api';
import type * as Context from '@opentelemetry/context-async-hooks';
import type * as Exporter from '@opentelemetry/exporter-trace-otlp-proto';
import type * as Resources from '@opentelemetry/resources';
import type * as Sdk from '@opentelemetry/sdk-trace';

import { TroupeError } from '../../errors.ts';

/** OpenTelemetry's packages for the export of spans. */
export interface OtlpPackages {
  readonly api: typeof Api;
  readonly sdk: typeof Sdk;
  readonly resources: typeof Resources;
  readonly context: typeof Context;
  readonly exporter: typeof Exporter;
}

const NAMES =
  '@opentelemetry/api @opentelemetry/sdk-trace @opentelemetry/resources @opentelemetry/context-async-hooks @opentelemetry/exporter-trace-otlp-proto';

/** @throws TroupeError with the command that installs the packages */
export async function loadOtlpPackages(): Promise<OtlpPackages> {
  try {
    return {
      api: await import('@opentelemetry/api'),
      sdk: await import('@opentelemetry/sdk-trace'),
      resources: await import('@opentelemetry/resources'),
      context: await import('@opentelemetry/context-async-hooks'),
      exporter: await import('@opentelemetry/exporter-trace-otlp-proto'),
    };
  } catch (cause) {
    const problem = `The export of spans needs packages of OpenTelemetry. Run: npm install ${NAMES}`;
    throw new TroupeError('invalid_config', problem, { cause });
  }
}
