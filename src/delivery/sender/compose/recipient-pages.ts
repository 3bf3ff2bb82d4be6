/** A message of a campaign or flow to an email address. */
export interface PageRecipient {
  accountId: number;
  brandId: number;
  messageId: number;
  /** Null if the message has no contact. */
  contactId: number | null;
  to: string;
}

/** Creates the links by which recipients unsubscribe. Implemented by the feature that serves these pages. */
export interface RecipientPages {
  /**
   * The page to unsubscribe, and the headers for one-click unsubscribe (RFC 8058).
   * @returns null if the recipient has no email address
   */
  unsubscribe(recipient: PageRecipient): { url: string; headers: Record<string, string> } | null;
  /** The page on which the contact chooses lists. */
  preferences(recipient: PageRecipient): string | null;
}
