import type { Config } from '../../../config.ts';
import type { Egress } from '../../../platform/egress/client.ts';
import type { PaymentNotifications, PaymentService } from './port.ts';
import { createStripe, createStripeNotifications } from './stripe.ts';

/** @returns null if no payment service is configured */
export function createPaymentService(
  config: Pick<Config, 'STRIPE_SECRET_KEY' | 'STRIPE_API_URL'>,
  egress: Egress,
): PaymentService | null {
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_API_URL: baseUrl } = config;
  return secretKey === undefined ? null : createStripe({ egress, baseUrl, secretKey });
}

/** The readers of notifications, by the name of the service in their URL. */
export function createNotifications(
  config: Pick<Config, 'STRIPE_WEBHOOK_SECRET'>,
): Readonly<Record<string, PaymentNotifications | undefined>> {
  const { STRIPE_WEBHOOK_SECRET: secrets } = config;
  return secrets.length === 0 ? {} : { stripe: createStripeNotifications(secrets) };
}
