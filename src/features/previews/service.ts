/** Renders what a preview shows. */
import { invalid } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { requireCampaign } from '../campaigns/service.ts';
import type { ReadContent } from '../messages/service.ts';
import {
  errorsOf,
  findStepTemplateId,
  pageOf,
  type RenderDeps,
  renderTemplate,
  renderUnsaved,
  type Shown,
} from '../templates/service.ts';
import type { CreatePreviewBody } from './schema.ts';

export interface PreviewDeps extends RenderDeps {
  readMessage: ReadContent;
}

/** @throws AppError not_found, validation_error */
async function templateIdOf({ pool }: PreviewDeps, tenant: Tenant, body: CreatePreviewBody): Promise<number> {
  if (body.campaign_id !== undefined) {
    return (await requireCampaign(pool, tenant, body.campaign_id)).template_id ?? 0;
  }
  if (body.flow_id === undefined) return body.template_id ?? 0;
  const found = await findStepTemplateId(pool, tenant, body.flow_id, body.step_id ?? 0);
  if (found === null) throw invalid({ step_id: ['is not the id of a step with a content'] });
  return found;
}

async function render(
  deps: PreviewDeps,
  tenant: Tenant,
  body: CreatePreviewBody,
): Promise<Pick<Shown, 'html' | 'text' | 'problems'>> {
  const { contact_id, variables } = body;
  if (body.message_id !== undefined) {
    return { ...(await deps.readMessage(tenant, body.message_id)), problems: [] };
  }
  if (body.content) return renderUnsaved(deps, tenant, { ...body.content, contact_id, variables });
  const templateId = await templateIdOf(deps, tenant, body);
  return renderTemplate(deps, tenant, templateId, { contact_id, variables, sample: true });
}

/**
 * Renders a page.
 * @returns HTML that runs nothing, and whose links to unsubscribe lead nowhere
 * @throws AppError not_found; unavailable; validation_error if there is nothing to show
 */
export async function renderPreview(
  deps: PreviewDeps,
  tenant: Tenant,
  body: CreatePreviewBody,
): Promise<string> {
  const { html, text, problems } = await render(deps, tenant, body);
  if (html === null && text === null) {
    throw invalid(
      problems.length > 0 ? errorsOf(problems) : { message_id: ['has no content that could be shown'] },
    );
  }
  return pageOf({ html, text }, body);
}
