import { jsonOf, reports } from '../../adapters/callback-body.ts';
import type { CallbackResult, ProviderCallbacks } from '../../adapters/kind.ts';
import type { SesSettings } from './api.ts';
import { sesFact } from './events.ts';
import { confirmationUrl, createSnsVerifier, snsMessage } from './sns.ts';

const verify = createSnsVerifier();

const refused = (reason: string): CallbackResult => ({ kind: 'refused', reason });

/** Events of SES come through a topic of SNS, which posts JSON as text/plain. */
export const sesCallbacks: ProviderCallbacks<SesSettings> = {
  async parseCallback({ body, now }, { topic_arn: topic }, egress) {
    const parsed = snsMessage.safeParse(jsonOf(body));
    if (!parsed.success) return refused('not a message of Amazon SNS');
    const message = parsed.data;
    // SNS signs for every AWS customer's topics, so a valid signature is not enough: only the topic of the settings
    // counts.
    if (topic === undefined) return refused('the provider has no topic_arn');
    if (message.TopicArn !== topic) return refused('the message is from a topic other than topic_arn');
    const verdict = await verify(message, egress, now);
    if (verdict.kind !== 'genuine') return verdict;
    switch (message.Type) {
      case 'Notification':
        return reports([jsonOf(message.Message)], (item) => sesFact(item, now));
      case 'SubscriptionConfirmation': {
        const url = confirmationUrl(message);
        return url === null
          ? refused('the confirmation does not lead to Amazon SNS')
          : { kind: 'confirm', url };
      }
      case 'UnsubscribeConfirmation':
        return reports([message.Type], () => null);
    }
  },
};
