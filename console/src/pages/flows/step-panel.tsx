import { useState } from 'react';
import type { AudienceNames } from '../../api/choices.ts';
import type { Schemas } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { JsonBlock } from '../../ui/code.tsx';
import { Card, countText, DetailList, shareText } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { PreviewPanel } from '../templates/preview-panel.tsx';
import { nameOf } from './editor/texts.ts';
import type { Flow } from './flow-frame.tsx';
import { conditionsText, stepSummary, type FlowStep } from './step-text.ts';

type StepReport = Schemas['FlowReport']['steps'][number];

/** One step of a flow: what it does, its figures, and the runs that are at it. */
export function StepPanel({
  flow,
  step,
  report,
  names,
}: {
  flow: Flow;
  step: FlowStep;
  report: StepReport | undefined;
  names: AudienceNames;
}) {
  const template = flow.templates.find(({ id }) => id === step.template_id);
  const here = report?.in_progress_count;
  return (
    <div className="flow-panel">
      <Card title={nameOf(step)}>
        <p>{stepSummary(step, names)}</p>
        <DetailList
          items={[
            ...(step.filters?.length ? [['Filters', conditionsText(step.filters, names)] as const] : []),
            [
              'Runs here now',
              <BrandLink
                key="here"
                to={`/flows/${flow.id}/runs`}
                search={{ step_id: String(step.id), state: 'active' }}
              >
                {here === null ? 'too many to count' : countText(here ?? 0)}
              </BrandLink>,
            ],
            ...(template ? [['Template', <TemplateLink key="template" template={template} />] as const] : []),
          ]}
        />
        {report?.messages && <MessageFigures messages={report.messages} />}
        <StepSource step={step} />
      </Card>
      {template && (
        <PreviewPanel
          key={step.id}
          of={{ flow_id: flow.id, step_id: step.id }}
          template={template}
          title={`Preview of ${nameOf(step)}`}
        />
      )}
    </div>
  );
}

const TemplateLink = ({ template }: { template: Flow['templates'][number] }) => (
  <BrandLink to={`/templates/${template.id}`}>{template.name ?? `Template ${template.id}`}</BrandLink>
);

const OUTCOMES = ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained'] as const;

function MessageFigures({ messages }: { messages: NonNullable<StepReport['messages']> }) {
  const refused = Object.entries(messages.not_accepted);
  return (
    <>
      <DetailList
        items={OUTCOMES.map((outcome) => {
          const rate = outcome === 'sent' ? null : messages.rates[outcome];
          const count = countText(messages[`${outcome}_count`]);
          return [outcome, rate === null ? count : `${count} (${shareText(rate, 1)})`] as const;
        })}
      />
      {refused.length > 0 && (
        <DetailList
          items={refused.map(([reason, count]) => [
            `not sent: ${reason.replaceAll('_', ' ')}`,
            countText(count),
          ])}
        />
      )}
    </>
  );
}

/** The step as the API has it, without the steps of its branches and its content. */
function StepSource({ step }: { step: FlowStep }) {
  const [open, setOpen] = useState(false);
  const { yes: _yes, no: _no, branches, body, design: _design, ...own } = step;
  const shown = {
    ...own,
    ...(step.type === 'webhook' && body !== undefined ? { body } : {}),
    ...(branches ? { branches: branches.map(({ weight }) => ({ weight })) } : {}),
  };
  return (
    <div>
      <Button kind="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? 'Hide the JSON' : 'Show the JSON'}
      </Button>
      {open && <JsonBlock value={shown} />}
    </div>
  );
}
