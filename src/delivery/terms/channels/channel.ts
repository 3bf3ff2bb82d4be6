/** What a channel is: every difference between channels that shared code and SQL depend on. */
export interface ChannelFacts {
  /** The setting with the provider for accounts that have none of their own. */
  readonly setting: 'EMAIL_PROVIDER_URL' | 'SMS_PROVIDER_URL';
  /**
   * Shown in the error if the setting is missing: what it is for, with an example. null: senders start without it, and
   * messages are held.
   */
  readonly required: string | null;
  /** How addresses of recipients are handled. */
  readonly address: {
    /**
     * Returns the form in which Carillon compares addresses, see `recipientKey`. null: the text is no address of the
     * channel.
     */
    key(text: string): string | null;
    /** Whether an address may have a tag, as in `ada+news@example.com`. If so, SUPPRESS_PLUS_ADDRESSES applies. */
    readonly hasTags: boolean;
  };
  /** Where a contact's address and consent are stored. */
  readonly contact: {
    /**
     * The name of the address in the API. It is also the column of the address in `contacts` and `suppressions`, and
     * the prefix of related columns of `contacts`, such as `phone_subscribed`.
     */
    readonly kind: 'email' | 'phone';
    /** The column with the form in which addresses are compared. */
    readonly key: string;
  };
  /** Columns of `accounts`. */
  readonly account: {
    /** Its providers, in the order in which they are used. */
    readonly providers: string;
    /** Its address for replies; null: replies go to the sender. */
    readonly replyTo: string | null;
  };
  /**
   * The unit that has a price. `message`: the price depends on the account's tier, and some messages are free each
   * month. `segment`: each part of a long text has the price of its country.
   */
  readonly unit: 'message' | 'segment';
  /** Whether campaigns, flows and accounts are paused if too many of its messages bounce or receive complaints. */
  readonly hasRates: boolean;
  /** Whether opens and clicks can be tracked, so that its messages count in the engagement of contacts. */
  readonly isTracked: boolean;
}
