import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Counts for Prometheus. Labels hold no ids of users, sessions or runs. */
export class ServiceMetrics {
  readonly #requests = new Map<string, number>();
  readonly #runs = new Map<string, number>();
  readonly #gauges: Readonly<Record<string, () => number>>;
  readonly #delay = monitorEventLoopDelay({ resolution: 20 });

  constructor(gauges: Readonly<Record<string, () => number>>) {
    this.#gauges = gauges;
    this.#delay.enable();
  }

  countRequest(method: string, route: string, status: number): void {
    count(this.#requests, `method="${method}",route="${route}",status="${status}"`);
  }

  countRun(status: string): void {
    count(this.#runs, `status="${status}"`);
  }

  close(): void {
    this.#delay.disable();
  }

  /** The text format of Prometheus. */
  text(): string {
    const lines = [
      '# TYPE troupe_http_requests_total counter',
      ...[...this.#requests].map(([labels, n]) => `troupe_http_requests_total{${labels}} ${n}`),
      '# TYPE troupe_runs_total counter',
      ...[...this.#runs].map(([labels, n]) => `troupe_runs_total{${labels}} ${n}`),
      ...Object.entries(this.#gauges).flatMap(([name, value]) => [
        `# TYPE ${name} gauge`,
        `${name} ${value()}`,
      ]),
      '# TYPE troupe_event_loop_delay_p99_seconds gauge',
      `troupe_event_loop_delay_p99_seconds ${this.#delay.percentile(99) / 1e9}`,
      '# TYPE process_resident_memory_bytes gauge',
      `process_resident_memory_bytes ${process.memoryUsage.rss()}`,
    ];
    return `${lines.join('\n')}\n`;
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
