import type { Usage } from 'troupe';

import type { ServiceDatabase, SqlQueries } from './database.ts';

/** Usage of a user on one day (UTC). */
export interface DayUsage {
  readonly tokens: number;
  readonly cost: number;
}

/** Statements about the usage of each user and day. */
export class UsageTable {
  readonly #db: ServiceDatabase;

  constructor(db: ServiceDatabase) {
    this.#db = db;
  }

  /** Adds the usage of a run, in the commit that ends the run. */
  async add(
    tx: SqlQueries,
    user: string,
    { inputTokens, outputTokens, cost = 0 }: Usage,
    now: number,
  ): Promise<void> {
    await tx.query(
      `INSERT INTO service_usage (user_id, day, tokens, cost) VALUES (?, ?, ?, ?)
       ON CONFLICT (user_id, day) DO UPDATE SET tokens = service_usage.tokens + excluded.tokens, cost = service_usage.cost + excluded.cost`,
      [user, dayOf(now), inputTokens + outputTokens, cost],
    );
  }

  async ofDay(user: string, now: number): Promise<DayUsage> {
    const sql = 'SELECT tokens, cost FROM service_usage WHERE user_id = ? AND day = ?';
    const [row] = await this.#db.query(sql, [user, dayOf(now)]);
    return { tokens: Number(row?.['tokens'] ?? 0), cost: Number(row?.['cost'] ?? 0) };
  }
}

function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}
