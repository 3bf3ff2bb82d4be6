import type { SuppressionReason } from '../../../delivery/ledger/consent/suppressions.ts';
import { timeIn } from '../../../platform/input/times.ts';
import { type Cells, type CellWarning, optional } from '../cells.ts';
import { readReason } from './reason.ts';

/** What a row says about a suppression. */
export interface RowSuppression {
  reason: SuppressionReason;
  /** Of a suppression: what the file says about it. */
  diagnostic: string | null;
  /** Of a suppression: false if it has ended, or if the file says that the address is none. */
  active: boolean;
  /** Of a suppression: when it ends, in ISO 8601; null if it is permanent. */
  expiresAt: string | null;
}

/** Words for an active suppression, and for one that has ended. */
const yes = ['true', 'yes', 'y', '1', 'on', 'active'];
const no = ['false', 'no', 'n', '0', 'off', 'inactive'];
const words = new Map([
  ...yes.map((word) => [word, true] as const),
  ...no.map((word) => [word, false] as const),
]);

/**
 * Reads whether a suppression is active, and when it ends. What cannot be read does not keep the suppression away: it
 * is active, or permanent.
 */
function readEnd(
  { active, expires_at: end }: Cells,
  timezone: string | null,
  warnings: CellWarning[],
): Pick<RowSuppression, 'active' | 'expiresAt'> {
  const isActive = active === undefined || words.get(active.text.toLowerCase());
  if (isActive === undefined) {
    const column = active?.column ?? '';
    warnings.push({ code: 'invalid_active', message: `${column} must be true or false`, column });
  }
  const ends = isActive !== false;
  if (!end) return { active: ends, expiresAt: null };
  const at = timeIn(end.text, timezone ?? 'UTC');
  if (!at) {
    const message = `${end.column} must be a time such as 2026-01-31T12:00:00Z`;
    warnings.push({ code: 'invalid_time', message, column: end.column });
    return { active: ends, expiresAt: null };
  }
  return { active: ends && at.getTime() > Date.now(), expiresAt: at.toISOString() };
}

/** Of rows of contacts. */
export const noSuppression: RowSuppression = {
  reason: 'manual',
  diagnostic: null,
  active: true,
  expiresAt: null,
};

/**
 * Reads what a row says about a suppression.
 * @param file why the addresses are suppressed whose rows do not say it (null: unknown), and the zone of times that name
 *   none (null: UTC)
 */
export function readSuppression(
  cells: Cells,
  { reason: ofFile, timezone }: { reason: SuppressionReason | null; timezone: string | null },
  warnings: CellWarning[],
): RowSuppression {
  const { reason, diagnostic, isSuppressed } = optional(warnings, () =>
    readReason(cells, ofFile, (problem) => warnings.push(problem)),
  ) ?? { reason: ofFile ?? 'manual', diagnostic: null, isSuppressed: true };
  const { active, expiresAt } = readEnd(cells, timezone, warnings);
  return { reason, diagnostic, active: active && isSuppressed, expiresAt };
}
