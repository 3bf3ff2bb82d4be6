import { useState } from 'react';
import { Card, DetailList } from '../../ui/details.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { PreviewPanel } from '../templates/preview-panel.tsx';
import type { Campaign } from './campaign-frame.tsx';

type Variant = NonNullable<Campaign['data']['options']['ab']>['variants'][number];

/** What recipients get. A variant has another subject or another template; 0 is the campaign's own content. */
export function CampaignContent({ campaign }: { campaign: Campaign }) {
  const [chosen, setChosen] = useState(0);
  const variants = campaign.data.options.ab?.variants ?? [];
  const variant = variants[chosen - 1];
  const template = campaign.templates.find(({ id }) => id === variant?.template_id) ?? campaign.template;
  return (
    <>
      {variants.length > 0 && (
        <Field label="Variant">
          <Select
            value={String(chosen)}
            onChange={(event) => setChosen(Number(event.target.value))}
            options={[
              { value: '0', label: 'The content of the campaign' },
              ...variants.map((each, index) => ({
                value: String(index + 1),
                label: variantText(each, index),
              })),
            ]}
          />
        </Field>
      )}
      <Card title="Content">
        <DetailList
          items={[
            ['Subject', variant?.subject ?? template.subject],
            ['Preheader', template.preheader],
            ['From', [template.from_name, template.from_email].filter(Boolean).join(' · ')],
            ['Reply to', template.reply_to],
          ]}
        />
      </Card>
      <PreviewPanel
        of={
          template.id === campaign.template.id ? { campaign_id: campaign.id } : { template_id: template.id }
        }
        template={template}
        title={`Content of ${campaign.name}`}
      />
    </>
  );
}

const variantText = ({ subject, weight }: Variant, index: number) =>
  [`Variant ${index}`, `${weight} %`, subject].filter(Boolean).join(' · ');
