/** Identifies a claim. If the message is claimed again, the epoch is higher. */
export interface ClaimId {
  messageId: number;
  epoch: number;
}

/** Identifies the claim of a campaign's block. If the block is claimed again, the epoch is higher. */
export interface BlockClaim {
  campaignId: number;
  n: number;
  epoch: number;
}

export interface Claim extends ClaimId {
  accountId: number;
  /** As in {@link Backlog}. */
  class: number;
  /**
   * Set if the message has no queue row but belongs to this block of a campaign. The epoch of the claim is that of the
   * block.
   */
  block?: BlockClaim;
  /** Set if the message is a copy of a letter, with the bytes of the letter's files, not folded. */
  letter?: { fileBytes: number };
  /** Bytes of the message's content, without files. */
  bytes: number;
  /** How long the content may take to compose, see `content-weight.ts`. */
  weight: number;
  /** How often a connection was lost while the message was transferred. */
  losses: number;
}

/**
 * First key of the advisory lock that claims of one account wait for. What remains of a quota is read under it; the
 * account's row is not locked, because other statements need it.
 */
export const ACCOUNT_LOCK = 1_129_468_234;
