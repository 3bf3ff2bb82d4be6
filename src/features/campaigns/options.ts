import { z } from 'zod';
import { withoutLiquid } from '../../delivery/terms/texts/no-liquid.ts';
import { oneLine } from '../../platform/input/one-line.ts';
import { MAX_ID } from '../../platform/db/paging.ts';

const MAX_PER_MINUTE = 1_000_000;
const MAX_VARIANTS = 5;
const MAX_SUBJECT = 998;
const MAX_UTM = 255;
const MIN_TEST_SECONDS = 60;
const MAX_TEST_SECONDS = 7 * 24 * 60 * 60;

const variant = z.strictObject({
  subject: oneLine(MAX_SUBJECT)
    .min(1)
    .optional()
    .meta({ description: 'Sends the content of the campaign with this subject.' }),
  template_id: z
    .int()
    .min(1)
    .max(MAX_ID)
    .optional()
    .meta({ description: 'Sends this template of the brand.' }),
  weight: z.int().min(1).max(100).meta({ description: 'The part of the audience in percent.' }),
});

export const abBases = ['opens', 'clicks'] as const;

const ab = z
  .strictObject({
    variants: z.array(variant).min(2).max(MAX_VARIANTS),
    by: z
      .enum(abBases)
      .default('opens')
      .meta({ description: 'Whether opens or clicks by people decide the winner.' }),
    after_seconds: z
      .int()
      .min(MIN_TEST_SECONDS)
      .max(MAX_TEST_SECONDS)
      .default(4 * 60 * 60)
      .meta({
        description:
          'How long after the last message of the test the winner is decided and sent to the remaining recipients.',
      }),
  })
  .superRefine(({ variants }, context) => {
    for (const [index, { subject, template_id: templateId }] of variants.entries()) {
      if ((subject === undefined) !== (templateId === undefined)) continue;
      context.addIssue({
        code: 'custom',
        path: ['variants', index],
        message: 'must have either a subject or a template_id',
      });
    }
    const total = variants.reduce((sum, { weight }) => sum + weight, 0);
    if (total <= 100) return;
    context.addIssue({
      code: 'custom',
      path: ['variants'],
      message: 'must have weights of at most 100 percent in total',
    });
  });

const utm = withoutLiquid(oneLine(MAX_UTM).min(1), 'UTM parameters');

/** `data.options` of a campaign. */
export const campaignOptions = z
  .strictObject({
    throttle_per_minute: z.int().min(1).max(MAX_PER_MINUTE).nullish().meta({
      description: 'Maximum number of messages per minute.',
    }),
    send_at_local_time: z.boolean().nullish().meta({
      description:
        'Whether each recipient gets the message at the clock time of `scheduled_at` in its own zone, unless the campaign is sent early.',
    }),
    utm: z
      .strictObject({
        source: utm.nullish(),
        medium: utm.nullish(),
        campaign: utm.nullish(),
      })
      .nullish()
      .meta({
        description:
          'Added to links as `utm_source`, `utm_medium` and `utm_campaign`, unless already present.',
      }),
    ab: ab.nullish().meta({
      description:
        'Sends several variants. If their weights add up to less than 100, the remaining recipients get the winner.',
    }),
  })
  .meta({ id: 'CampaignOptions' });

/** The options as stored in `campaigns.options`. */
export type CampaignOptions = z.output<typeof campaignOptions>;
