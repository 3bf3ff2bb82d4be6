import type { Schemas } from '../../api/client.ts';
import { BrandLink } from '../../ui/links.tsx';

type Template = Pick<
  Schemas['Template'],
  'id' | 'name' | 'subject' | 'campaign_id' | 'flow_id' | 'action_id'
>;

export const templateName = ({ id, name, subject }: Template): string => name || subject || `Template ${id}`;

/** The campaign or the step of a flow whose content a template is. */
export function OwnerLink({ template }: { template: Template }) {
  const { campaign_id: campaignId, flow_id: flowId, action_id: stepId } = template;
  if (campaignId !== null)
    return <BrandLink to={`/campaigns/${campaignId}`}>campaign {campaignId}</BrandLink>;
  if (flowId === null) return <span className="muted">–</span>;
  return (
    <BrandLink to={`/flows/${flowId}`} {...(stepId === null ? {} : { search: { step: String(stepId) } })}>
      flow {flowId}
      {stepId !== null && `, step ${stepId}`}
    </BrandLink>
  );
}
