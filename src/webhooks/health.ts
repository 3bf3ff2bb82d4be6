/** What a webhook's row says of its recent attempts, all by the time they began. */
export interface Health {
  failingSince: Date | null;
  lastFailureAt: Date | null;
  lastSuccessAt: Date | null;
}

/** An attempt that ended. */
export interface HealthFact {
  startedAt: Date;
  delivered: boolean;
}

function latest(...dates: (Date | null | undefined)[]): Date | null {
  const times = dates.flatMap((date) => (date ? [date.getTime()] : []));
  return times.length === 0 ? null : new Date(Math.max(...times));
}

function began(facts: readonly HealthFact[], delivered: boolean): Date[] {
  return facts.filter((fact) => fact.delivered === delivered).map((fact) => fact.startedAt);
}

/**
 * Continuous failure begins with the first failed attempt after a success; any success ends it, unless that
 * attempt began before. Facts may come in any order: a success that ends one failure leaves the attempts that
 * failed after it began.
 */
export function healthAfter(before: Health, facts: readonly HealthFact[]): Health {
  const failures = began(facts, false);
  const success = latest(...began(facts, true));
  const lastSuccessAt = latest(before.lastSuccessAt, success);
  const lastFailureAt = latest(before.lastFailureAt, ...failures);
  const ended = success !== null && before.failingSince !== null && before.failingSince <= success;
  if (before.failingSince !== null && !ended) {
    return { failingSince: before.failingSince, lastFailureAt, lastSuccessAt };
  }
  const known = ended && before.lastFailureAt !== null ? [...failures, before.lastFailureAt] : failures;
  const since = known
    .filter((startedAt) => lastSuccessAt === null || startedAt > lastSuccessAt)
    .sort((one, other) => one.getTime() - other.getTime());
  return { failingSince: since[0] ?? null, lastFailureAt, lastSuccessAt };
}
