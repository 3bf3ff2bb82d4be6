/** What a top-up asks a payment service for. All of it is stored in its row before the request leaves. */
export interface PaymentRequest {
  /** A UUID: the service makes one payment for it, however often it gets the request. */
  key: string;
  amountCents: number;
  /** ISO 4217, in capitals. */
  currency: string;
  /** As the service names them. */
  customer: string;
  paymentMethod: string;
}

/** A payment as the service shows it. */
export interface Payment {
  /** As the service names it. */
  id: string;
  /** Of the request; null: Carillon did not ask for this payment. */
  key: string | null;
  /** `pending`: the service will decide, which may take days. */
  status: 'succeeded' | 'pending' | 'failed';
  /** What was received, if it succeeded. */
  amountCents: number;
  currency: string;
  /** A code of the service, if it failed. */
  failure: string | null;
}

/** What is known after a request. */
export type PaymentOutcome =
  | { kind: 'payment'; payment: Payment }
  /** The service refused the request; no payment was made, and none will be. */
  | { kind: 'refused'; failure: string }
  /** The request did not reach the service, so it may be sent again. */
  | { kind: 'not_sent'; failure: string }
  /** The service may have made the payment. */
  | { kind: 'unknown'; failure: string };

/** What a service reports of a payment, in a notification whose signature was right. */
export type PaymentReport =
  | { kind: 'payment'; payment: Payment }
  /** The bank of the payer took the amount back, until the dispute is decided. */
  | {
      kind: 'disputed' | 'dispute_won';
      disputeId: string;
      paymentId: string;
      amountCents: number;
      currency: string;
    }
  | { kind: 'other' };

/** A payment service that takes money from stored payment methods. One file in this folder each. */
export interface PaymentService {
  /** Asks for a payment. Never throws. */
  pay(request: PaymentRequest): Promise<PaymentOutcome>;
  /**
   * Looks for the payment of a request by its key.
   * @param since when the request was about to leave
   * @returns null if there is none
   * @throws Error if the service does not answer
   */
  find(request: Pick<PaymentRequest, 'key' | 'customer'>, since: Date): Promise<Payment | null>;
  /**
   * @returns null if the service has no such payment
   * @throws Error if the service does not answer
   */
  retrieve(paymentId: string): Promise<Payment | null>;
}

/** Reads notifications of a service. */
export interface PaymentNotifications {
  /**
   * @param now for the age of the signature
   * @returns null if the signature is not right or too old
   * @throws Error if the notification is signed but is not as documented
   */
  read(
    headers: Readonly<Record<string, string | string[] | undefined>>,
    body: Buffer,
    now: Date,
  ): PaymentReport | null;
}
