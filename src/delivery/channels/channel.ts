/** What a channel is: all in which channels differ for code and SQL that serve each of them. */
export interface ChannelFacts {
  /** The setting that names its provider for accounts without one of their own. */
  readonly setting: 'EMAIL_PROVIDER_URL' | 'SMS_PROVIDER_URL';
  /** The addresses of its recipients. */
  readonly address: {
    /**
     * Returns the form in which Carillon compares addresses, see `recipientKey`. null: the text is no address of the
     * channel.
     */
    key(text: string): string | null;
    /** An address may have a tag, such as `ada+news@example.com`: SUPPRESS_PLUS_ADDRESSES then concerns it. */
    readonly hasTags: boolean;
  };
  /** Where a contact has its address and consent. */
  readonly contact: {
    /**
     * The kind of the contact's channel in the API. In `contacts` and `suppressions` it is the column with the address,
     * and in `contacts` the first word of the columns about it, such as `phone_subscribed`.
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
   * What is paid for. `message`: each has the price of the account's tier, and some are free each month. `segment`: each
   * part of a long text has the price of its country.
   */
  readonly unit: 'message' | 'segment';
  /** Campaigns, flows and accounts are paused if too many of its messages bounce or are complained about. */
  readonly hasRates: boolean;
  /** Opens and clicks can be tracked, so that what contacts are sent counts in their engagement. */
  readonly isTracked: boolean;
}
