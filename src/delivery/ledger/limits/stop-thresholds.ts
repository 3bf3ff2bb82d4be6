/** When campaigns and flows stop themselves, because too much of their mail bounces or is reported as spam. */
import type { Config } from '../../../config.ts';

/** Rates are fractions of the emails that were accepted, or bounced at hand-over. */
export interface StopThresholds {
  bounceRate: number;
  minBounces: number;
  complaintRate: number;
  minComplaints: number;
  /** Minimum number of counted emails: below it, rates mean nothing. */
  minCounted: number;
}

/** Emails since the send or the last resume. `bounced` counts hard bounces. */
export interface ReputationCounts {
  counted: number;
  bounced: number;
  complained: number;
}

export interface ExceededRate {
  reason: 'bounce_rate' | 'complaint_rate';
  rate: number;
  threshold: number;
}

/** The thresholds of campaigns and flows. */
export function stopThresholds(config: Config): StopThresholds {
  return {
    bounceRate: config.CAMPAIGN_MAX_BOUNCE_RATE,
    minBounces: config.CAMPAIGN_MIN_BOUNCES,
    complaintRate: config.CAMPAIGN_MAX_COMPLAINT_RATE,
    minComplaints: config.CAMPAIGN_MIN_COMPLAINTS,
    minCounted: config.CAMPAIGN_MIN_COUNTED,
  };
}

/** @returns null if sending may continue */
export function stopReason(
  { counted, bounced, complained }: ReputationCounts,
  limits: StopThresholds,
): ExceededRate | null {
  if (counted < limits.minCounted) return null;
  if (bounced >= limits.minBounces && bounced / counted >= limits.bounceRate) {
    return { reason: 'bounce_rate', rate: bounced / counted, threshold: limits.bounceRate };
  }
  if (complained >= limits.minComplaints && complained / counted >= limits.complaintRate) {
    return { reason: 'complaint_rate', rate: complained / counted, threshold: limits.complaintRate };
  }
  return null;
}
