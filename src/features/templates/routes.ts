import { z } from 'zod';
import type { Config } from '../../config.ts';
import type { ContentEngine } from '../../delivery/content/templates/content.ts';
import { limitSettings } from '../../delivery/ledger/limits/authority.ts';
import { createSenderIdentities } from '../../delivery/terms/sender-identity.ts';
import { createSmsSenders } from '../../delivery/terms/sms-senders.ts';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { LargeLists } from '../../platform/http/large-lists.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { invalid } from '../../errors.ts';
import { createBrandOf } from './brand-parts.ts';
import { errorsOf } from './compile.ts';
import { pageOf as previewPage, PREVIEW_HEADERS } from './preview.ts';
import { renderTemplate } from './render.ts';
import {
  changeTemplateBody,
  checkSchema,
  createTemplateBody,
  duplicateTemplateBody,
  isOfFlow,
  listTemplatesQuery,
  listVersionsQuery,
  renderBody,
  renderedSchema,
  templateParams,
  templateReadOnlyFields,
  templateResource,
  templateSummary,
  versionSchema,
} from './schema.ts';
import type { SendTestDeps } from './send-test.ts';
import { createSendTestRoutes } from './send-test-routes.ts';
import { createUnsavedRoutes } from './unsaved-routes.ts';
import {
  changeTemplate,
  checkTemplate,
  createTemplate,
  deleteTemplate,
  duplicateTemplate,
  findTemplates,
  getTemplate,
  listVersions,
  prepareTemplate,
  presentTemplates,
  type TemplateOwners,
} from './service.ts';

export interface TemplateRouteDeps {
  config: Config;
  database: Database;
  keyring: Keyring;
  contents: ContentEngine;
  waker: Waker;
  largeLists: LargeLists;
  /** The flows, which this feature cannot import. */
  owners: TemplateOwners;
}

interface Parts extends SendTestDeps {
  largeLists: LargeLists;
  owners: TemplateOwners;
}

const PATH = '/v1/my/templates';
const tag = 'Templates';

const CONTENT =
  'Texts are Liquid. A mistake in Liquid, MJML or the design is a 422 that names the field and the line. Of `body` and ' +
  '`design`, the one that was set last is sent.';

function listRoute({ pool, largeLists }: Parts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listTemplates',
    tag,
    summary: 'List templates, newest first, without their designs',
    description: 'Without `owner=all` or a filter for them, templates of campaigns and flows are left out.',
    auth: 'brand',
    testKeys: 'allowed',
    query: listTemplatesQuery,
    paginated: true,
    responses: { 200: { description: 'A page of templates.', schema: z.array(templateSummary) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { tenant, query } = input;
      const { items, count } = await findTemplates(pool, tenant, query, page);
      return largeLists.reply(input, page, items, count, (ids) =>
        presentTemplates(pool, tenant, ids, query.summary ?? false),
      );
    },
  });
}

function createRoute(parts: Parts): RouteDefinition {
  const { pool } = parts;
  return defineIdempotentRoute({
    path: PATH,
    operationId: 'createTemplate',
    tag,
    summary: 'Create a template',
    description: CONTENT,
    auth: 'brand',
    testKeys: 'allowed',
    etag: 'shown',
    body: createTemplateBody,
    readOnlyFields: templateReadOnlyFields.filter((name) => name !== 'channel'),
    responses: { 201: { description: 'The template.', schema: templateResource } },
    prepare: ({ tenant, body }) => prepareTemplate(parts, tenant, body),
    async handler({ tenant }, trx, prepared) {
      const created = await createTemplate(trx, tenant, prepared);
      return { status: 201, body: created, resourceId: created.id };
    },
    load: ({ tenant }, id) => getTemplate(pool, tenant, id),
  });
}

function showRoute({ pool }: Parts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id`,
    operationId: 'getTemplate',
    tag,
    summary: 'Get a template with its design',
    auth: 'brand',
    testKeys: 'allowed',
    etag: 'shown',
    params: templateParams,
    responses: { 200: { description: 'The template.', schema: templateResource } },
    async handler({ tenant, params }) {
      return { status: 200, body: await getTemplate(pool, tenant, params.id) };
    },
  });
}

function changeRoute(parts: Parts): RouteDefinition {
  return defineRoute({
    method: 'PATCH',
    path: `${PATH}/:id`,
    operationId: 'changeTemplate',
    tag,
    summary: 'Change a template',
    description:
      `An omitted field stays unchanged; null clears it. ${CONTENT} Messages that were made from it stay as they are. The ` +
      'content of a sent campaign changes with `PATCH /campaigns/{id}`. The content of an active flow applies to runs ' +
      'that have not reached its step.',
    auth: 'brand',
    testKeys: { only: 'templates that a test key has created, and the content of drafts' },
    etag: 'checked',
    // The content of a flow may be under way; that of a campaign is changed here only while it is a draft.
    assistants: { sends: { isLive: isOfFlow }, without: ['content_from'] },
    params: templateParams,
    body: changeTemplateBody,
    readOnlyFields: templateReadOnlyFields.filter((name) => name !== 'content_from'),
    responses: { 200: { description: 'The changed template.', schema: templateResource } },
    errors: ['conflict', 'forbidden', 'invalid_transition', 'sender_not_verified'],
    async handler({ tenant, params, body, ifMatch }) {
      const changed = await changeTemplate(parts, parts.owners, tenant, params.id, body, ifMatch);
      return { status: 200, body: changed };
    },
  });
}

function deleteRoute({ pool }: Parts): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${PATH}/:id`,
    operationId: 'deleteTemplate',
    tag,
    summary: 'Delete a template',
    description:
      'Messages that were made from it do not change. The content of a campaign or flow cannot be deleted: 409.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    etag: 'checked',
    params: templateParams,
    responses: { 200: { description: 'The deleted template.', schema: templateResource } },
    errors: ['conflict'],
    async handler({ tenant, params, ifMatch }) {
      const template = await inTransaction(pool, (trx) => deleteTemplate(trx, tenant, params.id, ifMatch));
      return { status: 200, body: template };
    },
  });
}

function duplicateRoute({ pool }: Parts): RouteDefinition {
  return defineIdempotentRoute({
    path: `${PATH}/:id/duplicate`,
    operationId: 'duplicateTemplate',
    tag,
    summary: 'Copy a template',
    description: 'Copies a template of the brand, a campaign or a flow. The copy is a template of the brand.',
    auth: 'brand',
    testKeys: 'refused',
    etag: 'shown',
    params: templateParams,
    body: duplicateTemplateBody,
    bodyOptional: true,
    responses: { 201: { description: 'The copy.', schema: templateResource } },
    async handler({ tenant, params, body }, trx) {
      const template = await duplicateTemplate(trx, tenant, params.id, body.name);
      return { status: 201, body: template, resourceId: template.id };
    },
    load: ({ tenant }, id) => getTemplate(pool, tenant, id),
  });
}

function versionsRoute({ pool }: Parts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id/versions`,
    operationId: 'listTemplateVersions',
    tag,
    summary: 'List the versions of a template, newest first',
    description: 'Sending pins a version: the content with the parts of the brand, compiled once.',
    auth: 'brand',
    testKeys: 'allowed',
    params: templateParams,
    query: listVersionsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of versions.', schema: z.array(versionSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { versions, count } = await listVersions(pool, input.tenant, input.params.id, page);
      return paginate(input, page, versions, count);
    },
  });
}

function checkRoute(parts: Parts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id/check`,
    operationId: 'checkTemplate',
    tag,
    summary: 'Check a template',
    description:
      'Lists what prevents it from being sent, and what could be better: variables without a value, broken links, a missing ' +
      'unsubscribe link, more than 102 KB of HTML, images without alternative text.',
    auth: 'brand',
    audit: 'none',
    testKeys: 'allowed',
    params: templateParams,
    responses: {
      200: { description: 'The problems; an empty array if there are none.', schema: checkSchema },
    },
    async handler({ tenant, params }) {
      return { status: 200, body: { problems: await checkTemplate(parts, tenant, params.id) } };
    },
  });
}

function renderRoute(parts: Parts): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: `${PATH}/:id/render`,
    operationId: 'renderTemplate',
    tag,
    summary: 'Render a template for a contact, or with samples',
    description: 'Stores and sends nothing. The texts are null if the template cannot be rendered.',
    auth: 'brand',
    audit: 'none',
    testKeys: { only: 'samples and variables, no `contact_id`' },
    idempotency: 'none',
    params: templateParams,
    body: renderBody,
    bodyOptional: true,
    responses: { 200: { description: 'The content that would be sent.', schema: renderedSchema } },
    async handler({ tenant, params, body }) {
      return { status: 200, body: await renderTemplate(parts, tenant, params.id, body) };
    },
  });
}

function previewRoute(parts: Parts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id/preview`,
    operationId: 'previewTemplate',
    tag,
    summary: 'Show a template with its samples as a page',
    description: 'The page has no scripts, forms or frames. A template that cannot be rendered is a 422.',
    auth: 'brand',
    testKeys: 'allowed',
    params: templateParams,
    responses: { 200: { description: 'The page.', schema: null, contentType: 'text/html' } },
    async handler({ tenant, params }) {
      const { html, text, problems } = await renderTemplate(parts, tenant, params.id, { sample: true });
      if (html === null && text === null) throw invalid(errorsOf(problems));
      const body = previewPage({ html, text });
      return {
        status: 200,
        raw: { contentType: 'text/html; charset=utf-8', body },
        headers: PREVIEW_HEADERS,
      };
    },
  });
}

/** `/v1/my/templates` and everything below. */
export function createTemplateRoutes(deps: TemplateRouteDeps): RouteDefinition[] {
  const { config, database, keyring, contents, waker, largeLists, owners } = deps;
  const { pool } = database;
  const publicUrl = config.PUBLIC_URL ?? null;
  const parts: Parts = {
    pool,
    contents,
    brandOf: createBrandOf(pool, keyring, publicUrl),
    publicUrl,
    identities: createSenderIdentities(pool, config.MAIL_DOMAIN),
    smsSenderOf: createSmsSenders(pool),
    limits: limitSettings(config),
    waker,
    largeLists,
    owners,
  };
  return [
    listRoute(parts),
    createRoute(parts),
    showRoute(parts),
    changeRoute(parts),
    deleteRoute(parts),
    duplicateRoute(parts),
    versionsRoute(parts),
    checkRoute(parts),
    renderRoute(parts),
    ...createUnsavedRoutes(parts),
    previewRoute(parts),
    ...createSendTestRoutes(parts),
  ];
}
