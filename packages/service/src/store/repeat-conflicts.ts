const MAX_ATTEMPTS = 5;
/** PostgreSQL's codes for transactions that were rolled back because of another one: deadlock, and failed serialization. */
const CONFLICTS = ['40P01', '40001'];

/** Repeats a transaction that the database has rolled back because of another one. */
export async function repeatConflicts<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction();
    } catch (error) {
      const isConflict = error instanceof Error && 'code' in error && CONFLICTS.includes(String(error.code));
      if (!isConflict || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
