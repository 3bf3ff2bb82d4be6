import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { RenderDeps } from './render.ts';
import {
  checkedSchema,
  checkUnsavedBody,
  designHtmlSchema,
  designToHtmlBody,
  renderedSchema,
  renderUnsavedBody,
} from './schema.ts';
import { checkUnsaved, designToHtml, renderUnsaved } from './unsaved.ts';

function renderUnsavedRoute(deps: RenderDeps): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: '/v1/my/templates/render',
    operationId: 'renderContent',
    tag: 'Templates',
    summary: 'Render a content that is not saved, for a contact or with a sample contact',
    description:
      'Stores and sends nothing. The texts are null if the content cannot be rendered; `problems` then say why.',
    auth: 'brand',
    testKeys: { only: 'variables, no `contact_id`' },
    audit: 'none',
    idempotency: 'none',
    body: renderUnsavedBody,
    responses: { 200: { description: 'The content that would be sent.', schema: renderedSchema } },
    async handler({ tenant, body }) {
      return { status: 200, body: await renderUnsaved(deps, tenant, body) };
    },
  });
}

function checkUnsavedRoute(deps: RenderDeps): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: '/v1/my/templates/check',
    operationId: 'checkContent',
    tag: 'Templates',
    summary: 'Check a content that is not saved, as a send would',
    description:
      'Stores nothing. `variables` are those that will have a value. The sender is checked when a campaign or flow is sent.',
    auth: 'brand',
    testKeys: 'allowed',
    audit: 'none',
    idempotency: 'none',
    body: checkUnsavedBody,
    responses: {
      200: { description: 'What a send would refuse, and what could be better.', schema: checkedSchema },
    },
    async handler({ tenant, body }) {
      return { status: 200, body: await checkUnsaved(deps, tenant, body) };
    },
  });
}

function designToHtmlRoute(deps: RenderDeps): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: '/v1/my/templates/html',
    operationId: 'convertDesignToHtml',
    tag: 'Templates',
    summary: 'Convert a design to HTML',
    description:
      'Stores nothing. The HTML has the Liquid of the design, and the look of the brand as it is now. As the `body` of a ' +
      'template, it sends the same mail.',
    auth: 'brand',
    testKeys: 'allowed',
    audit: 'none',
    idempotency: 'none',
    body: designToHtmlBody,
    responses: { 200: { description: 'The HTML, or why there is none.', schema: designHtmlSchema } },
    async handler({ tenant, body }) {
      return { status: 200, body: await designToHtml(deps, tenant, body.design) };
    },
  });
}

/** Routes for contents that are not saved. */
export function createUnsavedRoutes(deps: RenderDeps): RouteDefinition[] {
  return [renderUnsavedRoute(deps), checkUnsavedRoute(deps), designToHtmlRoute(deps)];
}
