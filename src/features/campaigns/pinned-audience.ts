import type { ClosedSegments } from '../segments/index.ts';

/**
 * What the trigger of a campaign named when the campaign was sent. Contacts in both the list and the segment get it.
 * Campaigns sent before pins had a version have only this.
 */
export interface NamedAudience {
  listId: number | null;
  segmentId: number | null;
  /** The filters of the segment; null without one. */
  filters: unknown[] | null;
  /** The filters of the trigger itself; absent without them. */
  ownFilters?: unknown[];
  excludeListIds: number[];
  excludeSegmentIds: number[];
  /** The filters of each excluded segment. */
  excludeFilters: unknown[][];
}

/**
 * The forms of pinned audiences that this version reads. Processes that read only 2 leave the others to newer ones; 3 has
 * filters of the trigger, or filters that name a campaign.
 */
const PIN_VERSIONS = [2, 3] as const;

/** The audience of a campaign: everything that its pages and its evaluation read, except event names and members. */
export interface PinnedAudience extends NamedAudience {
  version: (typeof PIN_VERSIONS)[number];
  /** The filters of the segments that the filters name, at any depth. */
  segments: ClosedSegments;
  /** All lists and segments that it names, at any depth. They cannot be deleted until the snapshot is complete. */
  listIds: number[];
  segmentIds: number[];
  /** Whether its conditions depend on events, opens or clicks, so that they are evaluated once for all contacts. */
  evaluated: boolean;
}

/** Whether an audience was pinned in the current form. */
export function isPinned(audience: NamedAudience | null): audience is PinnedAudience {
  return (
    audience !== null &&
    'version' in audience &&
    PIN_VERSIONS.includes(audience.version as PinnedAudience['version'])
  );
}
