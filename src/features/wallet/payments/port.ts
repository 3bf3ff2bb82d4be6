/** A top-up's request to a payment service. All of it is stored in the top-up's row before the request leaves. */
export interface PaymentRequest {
  /** A UUID. The service makes one payment for it, however often it gets the request. */
  key: string;
  amountCents: number;
  /** ISO 4217, in capitals. */
  currency: string;
  /** The service's ids of the customer and of the stored payment method. */
  customer: string;
  paymentMethod: string;
}

/** A payment as the service describes it. */
export interface Payment {
  /** The service's id. */
  id: string;
  /** The key of the request; null if Carillon did not ask for this payment. */
  key: string | null;
  /** `pending`: the service has not decided yet, which may take days. */
  status: 'succeeded' | 'pending' | 'failed';
  /** The amount received, if the payment succeeded. */
  amountCents: number;
  currency: string;
  /** The service's code for the failure, if the payment failed. */
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

/** What a service reports about a payment, in a notification with a valid signature. */
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

/** A payment service that charges stored payment methods. Each has one file in this folder. */
export interface PaymentService {
  /** Requests a payment. Never throws. */
  pay(request: PaymentRequest): Promise<PaymentOutcome>;
  /**
   * Finds the payment of a request by its key.
   * @param since when the request was about to be sent
   * @returns null if there is none
   * @throws Error if the service does not respond
   */
  find(request: Pick<PaymentRequest, 'key' | 'customer'>, since: Date): Promise<Payment | null>;
  /**
   * @returns null if the service has no such payment
   * @throws Error if the service does not respond
   */
  retrieve(paymentId: string): Promise<Payment | null>;
}

/** Reads the notifications of a service. */
export interface PaymentNotifications {
  /**
   * @param now to judge the age of the signature
   * @returns null if the signature is wrong or too old
   * @throws Error if the notification is signed but not in the documented form
   */
  read(
    headers: Readonly<Record<string, string | string[] | undefined>>,
    body: Buffer,
    now: Date,
  ): PaymentReport | null;
}
