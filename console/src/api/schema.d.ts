// Written by `npm run console:types` from the OpenAPI document. Do not change it by hand.

export interface paths {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.yaml": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getOpenApiYaml"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getOpenApiJson"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getDocs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/assets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getDocsAsset"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getSession"];
        put?: never;
        post?: never;
        delete: operations["endCurrentSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/session/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["confirmSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete: operations["endOtherSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["endSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listOwnAccounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/user": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getUser"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch: operations["changeUser"];
        trace?: never;
    };
    "/v1/my/user/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put: operations["changePassword"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/users/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["removeUser"];
        options?: never;
        head?: never;
        patch: operations["changeUserRole"];
        trace?: never;
    };
    "/v1/password_resets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["requestPasswordReset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/password_resets/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["showPasswordReset"];
        put?: never;
        post: operations["resetPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/user/second_factor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getSecondFactor"];
        put?: never;
        post: operations["createSecondFactor"];
        delete: operations["deleteSecondFactor"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/user/second_factor/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["confirmSecondFactor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/user/second_factor/recovery_codes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["createRecoveryCodes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listInvitations"];
        put?: never;
        post: operations["createInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/invitations/{id}/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resendInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/invitations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["revokeInvitation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/invitations/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["showInvitation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/invitations/{token}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["acceptInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/user/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listOwnInvitations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/user/invitations/{id}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["acceptOwnInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/user/invitations/{id}/decline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["declineOwnInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/account": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAccount"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch: operations["patchAccount"];
        trace?: never;
    };
    "/v1/my/api_keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listApiKeys"];
        put?: never;
        post: operations["createApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/api_keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["revokeApiKey"];
        options?: never;
        head?: never;
        patch: operations["updateApiKey"];
        trace?: never;
    };
    "/v1/my/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/mcp_grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listMcpGrants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/mcp_grants/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["endMcpGrant"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/brand": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getBrand"];
        put: operations["putBrand"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/brand/scrape": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["scrapeBrand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/brands": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listBrands"];
        put?: never;
        post: operations["createBrand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listMessages"];
        put?: never;
        post: operations["sendMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/messages/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["sendMessageBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/messages/{id}/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resendMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/messages/{id}/attachments/{n}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["downloadMessageAttachment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/messages/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getMessage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch: operations["changeMessage"];
        trace?: never;
    };
    "/v1/my/messages/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancelMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listTemplates"];
        put?: never;
        post: operations["createTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/templates/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getTemplate"];
        put?: never;
        post?: never;
        delete: operations["deleteTemplate"];
        options?: never;
        head?: never;
        patch: operations["changeTemplate"];
        trace?: never;
    };
    "/v1/my/templates/{id}/duplicate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["duplicateTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/templates/{id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listTemplateVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/templates/{id}/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["checkTemplate"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/templates/{id}/render": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["renderTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/templates/render": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["renderContent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/templates/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["checkContent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/templates/html": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["convertDesignToHtml"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/templates/{id}/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["previewTemplate"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/templates/{id}/send_test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["sendTestOfTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/templates/send_test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["sendTestOfContent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/delivery/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getDeliveryStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/segments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listSegments"];
        put?: never;
        post: operations["createSegment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/segments/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["previewSegment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/segments/names": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listFilterNames"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/segments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getSegment"];
        put?: never;
        post?: never;
        delete: operations["deleteSegment"];
        options?: never;
        head?: never;
        patch: operations["changeSegment"];
        trace?: never;
    };
    "/v1/my/segments/{id}/contacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listSegmentContacts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/drafts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listDrafts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/drafts/{kind}/{resource_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getDraft"];
        put: operations["putDraft"];
        post?: never;
        delete: operations["deleteDraft"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/suppressions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listSuppressions"];
        put?: never;
        post: operations["createSuppression"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/suppressions/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["changeSuppressions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/suppressions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteSuppression"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/contacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listContacts"];
        put?: never;
        post: operations["createContact"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/contacts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getContact"];
        put?: never;
        post?: never;
        delete: operations["deleteContact"];
        options?: never;
        head?: never;
        patch: operations["changeContact"];
        trace?: never;
    };
    "/v1/my/contacts/{id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getContactTimeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/contacts/bulk_actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listBulkActions"];
        put?: never;
        post: operations["createBulkAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/conversations/bulk_actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listConversationBulkActions"];
        put?: never;
        post: operations["createConversationBulkAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/contacts/bulk_actions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getBulkAction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/contacts/bulk_actions/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancelBulkAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/conversations/bulk_actions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getConversationBulkAction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/conversations/bulk_actions/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancelConversationBulkAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/previews": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["createPreview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/lists": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listLists"];
        put?: never;
        post: operations["createList"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/lists/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["showList"];
        put?: never;
        post?: never;
        delete: operations["deleteList"];
        options?: never;
        head?: never;
        patch: operations["updateList"];
        trace?: never;
    };
    "/v1/my/lists/{id}/contacts/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["changeListContacts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listEvents"];
        put?: never;
        post: operations["trackEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/events/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["trackEvents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/events/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getEvent"];
        put?: never;
        post?: never;
        delete: operations["deleteEvent"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/uploads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listUploads"];
        put?: never;
        post: operations["createUpload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/uploads/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getUploadUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/uploads/{signed_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteUpload"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/uploads/{signed_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["downloadUpload"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/attachments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["createAttachment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/attachments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAttachment"];
        put?: never;
        post?: never;
        delete: operations["deleteAttachment"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/exports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listExports"];
        put?: never;
        post: operations["createExport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/exports/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getExport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/exports/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancelExport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/exports/{id}/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["downloadExport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/domains": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listDomains"];
        put?: never;
        post: operations["createDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/domains/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getDomain"];
        put?: never;
        post?: never;
        delete: operations["deleteDomain"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/domains/{id}/recheck": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["recheckDomain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/imports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listImports"];
        put?: never;
        post: operations["createImport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/imports/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getImport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/imports/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancelImport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/imports/{id}/errors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getImportErrors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/validation_operations/quote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["quoteValidation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/validation_operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listValidations"];
        put?: never;
        post: operations["startValidation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/validation_operations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getValidation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/validation_operations/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancelValidation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/validation_operations/{id}/items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listValidationItems"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/campaigns": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listCampaigns"];
        put?: never;
        post: operations["createCampaign"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/campaigns/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getCampaign"];
        put?: never;
        post?: never;
        delete: operations["deleteCampaign"];
        options?: never;
        head?: never;
        patch: operations["changeCampaign"];
        trace?: never;
    };
    "/v1/my/campaigns/{id}/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["checkCampaign"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/campaigns/{id}/send": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["sendCampaign"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/campaigns/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancelCampaign"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/campaigns/{id}/duplicate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["duplicateCampaign"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/campaigns/{id}/recipients": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listCampaignRecipients"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/campaigns/{id}/recipients/to_list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listCampaignListFills"];
        put?: never;
        post: operations["addCampaignRecipientsToList"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/campaigns/{id}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getCampaignReport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/campaigns/{id}/resend_unknown": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resendUnknownRecipients"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["checkUnsavedFlow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/simulate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["simulateUnsavedFlow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listFlows"];
        put?: never;
        post: operations["createFlow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getFlow"];
        put?: never;
        post?: never;
        delete: operations["archiveFlow"];
        options?: never;
        head?: never;
        patch: operations["changeFlow"];
        trace?: never;
    };
    "/v1/my/flows/{id}/activate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["activateFlow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["pauseFlow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resumeFlow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/{id}/duplicate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["duplicateFlow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/{id}/enter": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["enterFlow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/{id}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getFlowReport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/{id}/resend_unknown": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resendUnknownOfFlow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/{id}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listFlowRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flow_runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getFlowRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flow_runs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancelFlowRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/{id}/webhook_secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getFlowWebhookSecret"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/{id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listFlowVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/{id}/versions/{number}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getFlowVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/flows/{id}/simulate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["simulateFlow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/inboxes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listInboxes"];
        put?: never;
        post: operations["createInbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/inboxes/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getInboxUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/inboxes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getInbox"];
        put?: never;
        post?: never;
        delete: operations["deleteInbox"];
        options?: never;
        head?: never;
        patch: operations["changeInbox"];
        trace?: never;
    };
    "/v1/my/inbox_blocks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listInboxBlocks"];
        put?: never;
        post: operations["createInboxBlock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/inbox_blocks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteInboxBlock"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listConversations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/conversations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getConversation"];
        put?: never;
        post?: never;
        delete: operations["deleteConversation"];
        options?: never;
        head?: never;
        patch: operations["changeConversation"];
        trace?: never;
    };
    "/v1/my/conversations/{id}/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["markConversationRead"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/conversations/{id}/unread": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["markConversationUnread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/conversations/{conversation_id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listConversationMessages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/conversations/{conversation_id}/messages/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getConversationMessage"];
        put?: never;
        post?: never;
        delete: operations["deleteConversationMessage"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/conversations/{conversation_id}/messages/{conversation_message_id}/attachments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["downloadConversationAttachment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/conversations/{conversation_id}/messages/{id}/raw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["downloadConversationMessage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/conversations/{id}/reply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["replyToConversation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/inbox_quarantine": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listInboxQuarantine"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/inbox_quarantine/{conversation_message_id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["releaseFromInboxQuarantine"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/inbox_quarantine/{conversation_message_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteFromInboxQuarantine"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/wallet/entries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listWalletEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listWebhooks"];
        put?: never;
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        patch: operations["changeWebhook"];
        trace?: never;
    };
    "/v1/my/webhooks/{id}/rotate_secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["testWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/webhooks/{id}/deliveries/{delivery_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getWebhookDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/webhooks/{id}/deliveries/{delivery_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["retryWebhookDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/webhooks/{id}/retry_deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["retryWebhookDeliveries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-authorization-server": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["describeAuthorizationServer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-protected-resource/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getMcpResource"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-protected-resource": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getProtectedResource"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["openMcpStream"];
        put?: never;
        post: operations["sendMcpMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/my/mcp_calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listMcpCalls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getLanding"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    "email.sent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_email_sent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "email.delivered": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_email_delivered"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "email.bounced": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_email_bounced"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "email.complained": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_email_complained"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "email.opened": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_email_opened"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "email.clicked": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_email_clicked"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "email.failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_email_failed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "email.received": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_email_received"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "campaign.completed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_campaign_completed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "campaign.failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_campaign_failed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "campaign.stopped": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_campaign_stopped"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "flow.paused": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_flow_paused"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "sending.paused": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_sending_paused"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "sending.limit_approaching": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_sending_limit_approaching"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "sending.limit_reached": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_sending_limit_reached"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "import.completed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_import_completed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "import.failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_import_failed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "domain.verified": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_domain_verified"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "domain.verification_lost": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_domain_verification_lost"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "domain.dns_degraded": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_domain_dns_degraded"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "webhook.disabled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["on_webhook_disabled"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        Error: {
            /** @constant */
            error: true;
            /** @enum {string} */
            code: "malformed_json" | "unauthorized" | "otp_required" | "forbidden" | "confirmation_required" | "test_key" | "not_found" | "method_not_allowed" | "idempotency_conflict" | "conflict" | "precondition_failed" | "payload_too_large" | "unsupported_media_type" | "range_not_satisfiable" | "validation_error" | "sender_not_verified" | "reserved_header" | "reserved_tag" | "invalid_transition" | "insufficient_funds" | "spend_cap_reached" | "sandbox_limit_reached" | "brand_required" | "unscanned_attachment" | "rate_limited" | "internal_error" | "unavailable";
            message: string;
            validation_errors: {
                [key: string]: string[];
            };
        };
        AcceptedMessage: {
            id: number;
            letter_id?: number;
            account_id: number;
            brand_id: number;
            /** @enum {string} */
            channel: "email" | "sms";
            /** @enum {string} */
            status: "queued" | "held" | "sent" | "delivered" | "bounced" | "complained" | "failed" | "unknown" | "skipped" | "canceled" | "sending" | "scheduled";
            to: string | null;
            from: string | null;
            reply_to: string | null;
            subject: string | null;
            template_id: number | null;
            contact_id: number | null;
            campaign_id: number | null;
            flow_id: number | null;
            tags: {
                [key: string]: string;
            };
            headers: {
                [key: string]: string;
            };
            tracking: {
                opens: boolean | null;
                clicks: boolean | null;
            };
            idempotency_key: string | null;
            provider: string | null;
            provider_message_id: string | null;
            segments: number | null;
            test: boolean;
            answers_mail: boolean;
            failure: {
                code: string;
                message: string;
            } | null;
            bounce: {
                /** @enum {string} */
                type: "hard" | "soft";
                subtype: string;
                diagnostic: string;
            } | null;
            hold: {
                /** @enum {string} */
                reason: "account_paused" | "domain_unverified" | "warm_up" | "pacing" | "allowance" | "spend_cap" | "wallet" | "provider_unavailable" | "provider_cannot_take";
                /** Format: date-time */
                until: string | null;
            } | null;
            /** Format: date-time */
            queued_at: string | null;
            /** Format: date-time */
            scheduled_at: string | null;
            /** Format: date-time */
            sent_at: string | null;
            /** Format: date-time */
            delivered_at: string | null;
            /** Format: date-time */
            opened_at: string | null;
            /** Format: date-time */
            clicked_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @constant */
            opaque?: true;
            attachments?: components["schemas"]["MessageAttachment"][];
            recipients?: {
                message_id: number;
                /** @enum {string} */
                kind: "to" | "cc" | "bcc";
                address: string | null;
                /** @enum {string} */
                status: "queued" | "held" | "sent" | "delivered" | "bounced" | "complained" | "failed" | "unknown" | "skipped" | "canceled" | "sending" | "scheduled";
            }[];
            warnings?: components["schemas"]["CheckProblem"][];
        };
        Account: {
            id: number;
            name: string | null;
            avatar: string | null;
            banner: string | null;
            comped: boolean;
            /** @enum {string} */
            account_tier: "free" | "paid" | "trusted";
            onboarding_state: {
                [key: string]: {
                    /** Format: date-time */
                    completed_at: string | null;
                };
            };
            onboarding: {
                steps: {
                    [key: string]: {
                        /** Format: date-time */
                        completed_at: string | null;
                    };
                };
                progress: {
                    completed: number;
                    total: number;
                };
            };
            domain_verified: boolean;
            can_send: boolean;
            using_sandbox: boolean;
            sandbox_email: string | null;
            sandbox_monthly_cap: number;
            sandbox_sends_remaining: number;
            capabilities: {
                [key: string]: boolean;
            };
            spend_cap_monthly_cents: number | null;
            billing: {
                plan_name: string;
                wallet_balance_cents: number;
                auto_topup: boolean;
                resources: {
                    email: {
                        used: number;
                        allowance: number;
                        remaining: number;
                        limited: boolean;
                        overage_rate: number;
                    };
                    sms: {
                        used: number;
                        allowance: number;
                        remaining: number;
                        limited: boolean;
                        overage_rate: number;
                    };
                    ai: {
                        used: number;
                        allowance: number;
                        remaining: number;
                        limited: boolean;
                        overage_rate: number;
                    };
                };
                lifetime: {
                    email_sent: number;
                    sms_sent: number;
                    ai_used: number;
                };
            };
            email_from_name: string | null;
            email_from_email: string | null;
            email_reply_to: string | null;
            test_email_recipients: string[];
            submission: {
                host: string | null;
                ports: number[];
                tls_ports: number[];
                tls: boolean;
            } | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            brand: components["schemas"]["Brand"] | null;
        };
        AddToListStep: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "add_to_list";
            id?: number;
            ref?: string;
            list_id: number;
        };
        ApiKey: {
            id: number;
            brand_id: number;
            name: string;
            prefix: string;
            test: boolean;
            scopes: "send"[] | null;
            rate_limit_per_second: number | null;
            /** Format: date-time */
            last_used_at: string | null;
            /** Format: date-time */
            revoked_at: string | null;
            /** Format: date-time */
            created_at: string;
        };
        Attachment: {
            id: number;
            filename: string;
            content_type: string;
            size: number;
            sha256: string;
            /** Format: date-time */
            expires_at: string;
        };
        AuditEntry: {
            id: number;
            /** Format: date-time */
            created_at: string;
            /** @enum {string} */
            actor_kind: "user" | "api_key" | "operator" | "system";
            actor_id: number | null;
            actor_name: string | null;
            action: string;
            brand_id: number | null;
            resource_id: string | null;
            status: number | null;
            ip: string | null;
            request_id: string | null;
        };
        Brand: {
            id: number;
            account_id: number;
            brand_color: string | null;
            text_color: string | null;
            bg_color: string | null;
            font_heading: string | null;
            font_body: string | null;
            style_notes: string | null;
            tone: string | null;
            company_description: string | null;
            industry: string | null;
            physical_address: string | null;
            company_name: string | null;
            source_url: string | null;
            example_copy: string[] | null;
            default_header: {
                [key: string]: unknown;
            };
            default_footer: {
                [key: string]: unknown;
            };
            default_theme: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            last_scraped_at: string | null;
            links: {
                url: string;
                icon: string;
                title: string;
            }[];
            logo: string | null;
            track_opens: boolean;
            track_clicks: boolean;
            timezone: string | null;
            quiet_hours: {
                start: string;
                end: string;
                timezone: string;
            } | null;
            frequency_cap: {
                count: number;
                per_seconds: number;
            } | null;
            sms_stop_text: string | null;
            scrape: components["schemas"]["BrandScrape"] | null;
            complete: boolean;
            revision: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        BrandScrape: {
            /** @enum {string} */
            status: "scraping" | "completed" | "failed";
            url: string;
            fields_found: ("brand_color" | "text_color" | "bg_color" | "font_heading" | "font_body" | "logo" | "company_name" | "company_description" | "physical_address" | "links" | "example_copy" | "tone")[];
            /** @enum {string|null} */
            error: "unreachable" | "not_html" | "timeout" | "robots" | "nothing_found" | null;
            /** Format: date-time */
            started_at: string;
            /** Format: date-time */
            finished_at: string | null;
        };
        BrandScrapeStarted: {
            /** @constant */
            status: "scraping";
            url: string;
        };
        BulkAction: {
            id: number;
            /** @enum {string} */
            action: "delete" | "add_to_list" | "remove_from_list" | "unsubscribe";
            list_id: number | null;
            filter: {
                [key: string]: unknown;
            };
            dry_run: boolean;
            /** @enum {string} */
            status: "queued" | "counting" | "running" | "completed" | "canceled" | "failed";
            /** @enum {string|null} */
            error: "list_deleted" | "too_slow" | "internal_error" | null;
            total_count: number | null;
            processed_count: number;
            changed_count: number;
            failed_count: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            started_at: string | null;
            /** Format: date-time */
            finished_at: string | null;
        };
        BulkFilter: {
            /** @constant */
            all?: true;
            email?: string;
            phone?: string;
            list_id?: number;
            segment_id?: number;
            subscribed?: boolean;
            /** @enum {string} */
            verification_status?: "verified" | "suppressed" | "unverified";
            source?: string;
            /** Format: date-time */
            created_after?: string;
            /** Format: date-time */
            created_before?: string;
            search?: string;
            /**
             * @example [
             *       {
             *         "name": "data.plan",
             *         "predicate": "eq",
             *         "value": "pro"
             *       }
             *     ]
             */
            filters?: components["schemas"]["Filter"][];
        };
        ButtonSection: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "button";
            props: {
                label: string;
                href: string;
            };
            styles?: components["schemas"]["SectionStyles"];
        };
        ButtonSectionInput: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "button";
            props: {
                label: string;
                href: string;
            };
            styles?: components["schemas"]["SectionStylesInput"];
        };
        Campaign: {
            id: number;
            account_id: number;
            /** @enum {string} */
            status: "draft" | "active" | "paused" | "completed";
            /** @enum {string} */
            approval_state: "not_required" | "pending" | "approved" | "rejected";
            /** @enum {string} */
            channel: "email" | "sms";
            name: string;
            data: components["schemas"]["CampaignData"];
            /** Format: date-time */
            scheduled_at: string | null;
            sent_count: number;
            revision: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            trigger: components["schemas"]["CampaignTrigger"];
            template: components["schemas"]["Template"];
            templates: components["schemas"]["Template"][];
        };
        CampaignCheck: {
            problems: components["schemas"]["CheckProblem"][];
            errors: {
                [key: string]: string[];
            };
            /** @example "Acme" <hello@acme.example> */
            sender: string | null;
            needs_approval: boolean;
        };
        CampaignData: {
            options: {
                throttle_per_minute?: number | null;
                send_at_local_time?: boolean | null;
                utm?: {
                    source?: string | null;
                    medium?: string | null;
                    campaign?: string | null;
                } | null;
                ab?: {
                    variants: {
                        subject?: string;
                        template_id?: number;
                        weight: number;
                    }[];
                    /**
                     * @default opens
                     * @enum {string}
                     */
                    by: "opens" | "clicks";
                    /** @default 14400 */
                    after_seconds: number;
                } | null;
            };
            progress: components["schemas"]["CampaignProgress"];
            /** @enum {string|null} */
            outcome: "completed" | "canceled" | "failed" | null;
            stop: components["schemas"]["CampaignStop"] | null;
        } & {
            [key: string]: unknown;
        };
        CampaignListFill: {
            id: number;
            campaign_id: number;
            list_id: number;
            /** @enum {string} */
            status: "running" | "completed";
            looked_at_count: number;
            added_count: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            finished_at: string | null;
        };
        CampaignOptions: {
            throttle_per_minute?: number | null;
            send_at_local_time?: boolean | null;
            utm?: {
                source?: string | null;
                medium?: string | null;
                campaign?: string | null;
            } | null;
            ab?: {
                variants: {
                    subject?: string;
                    template_id?: number;
                    weight: number;
                }[];
                /** @enum {string} */
                by?: "opens" | "clicks";
                after_seconds?: number;
            } | null;
        };
        CampaignProgress: {
            audience_count: number;
            sent_count: number;
            failed_count: number;
            skipped_count: number;
            unknown_count: number;
            canceled_count: number;
            remaining_count: number;
            waiting_for: {
                /** @enum {string} */
                reason: "schedule" | "approval" | "snapshot" | "allowance" | "throttle" | "provider" | "retries" | "local_time" | "ab_winner" | "domain_unverified" | "account_paused" | "wallet" | "spend_cap" | "sandbox";
                /** Format: date-time */
                until: string | null;
            } | null;
        };
        CampaignRecipient: {
            id: number;
            contact_id: number | null;
            to: string | null;
            /** @enum {string} */
            state: "sent" | "failed" | "skipped" | "unknown" | "canceled" | "remaining";
            /** @enum {string} */
            status: "queued" | "held" | "sent" | "delivered" | "bounced" | "complained" | "failed" | "unknown" | "skipped" | "canceled";
            variant: number | null;
            failure: {
                code: string;
                message: string;
            } | null;
            bounce: {
                type: string;
                subtype: string;
                diagnostic: string;
            } | null;
            /** Format: date-time */
            sent_at: string | null;
            /** Format: date-time */
            delivered_at: string | null;
            /** Format: date-time */
            opened_at: string | null;
            /** Format: date-time */
            clicked_at: string | null;
            /** Format: date-time */
            created_at: string;
        };
        CampaignReport: {
            campaign_id: number;
            counts: {
                audience_count: number;
                sent_count: number;
                delivered_count: number;
                bounced_count: number;
                complained_count: number;
                opened_count: number;
                clicked_count: number;
                failed_count: number;
                skipped_count: number;
                unknown_count: number;
                canceled_count: number;
                remaining_count: number;
                total_opens: number;
                total_clicks: number;
            };
            rates: {
                delivered: number | null;
                bounced: number | null;
                complained: number | null;
                opened: number | null;
                clicked: number | null;
                clicked_of_opened: number | null;
            };
            over_time: {
                bucket_seconds: number;
                buckets: {
                    /** Format: date-time */
                    at: string;
                    sent_count: number;
                    opened_count: number;
                    clicked_count: number;
                }[];
            };
            links: {
                variant: number | null;
                number: number;
                url: string | null;
                unique_clicks: number;
                total_clicks: number;
            }[];
            domains: {
                domain: string | null;
                audience_count: number;
                sent_count: number;
                delivered_count: number;
                bounced_count: number;
                complained_count: number;
                opened_count: number;
                clicked_count: number;
            }[];
            variants: {
                variant: number;
                audience_count: number;
                sent_count: number;
                delivered_count: number;
                bounced_count: number;
                complained_count: number;
                opened_count: number;
                clicked_count: number;
            }[];
        };
        CampaignStop: {
            /** @enum {string} */
            reason: "bounce_rate" | "complaint_rate" | "rejected" | "sender_not_verified" | "sandbox_limit_reached" | "spend_cap_reached" | "insufficient_funds" | "audience_deleted";
            rate: number | null;
            threshold: number | null;
            /** Format: date-time */
            at: string;
        };
        CampaignSummary: {
            id: number;
            account_id: number;
            /** @enum {string} */
            status: "draft" | "active" | "paused" | "completed";
            /** @enum {string} */
            approval_state: "not_required" | "pending" | "approved" | "rejected";
            /** @enum {string} */
            channel: "email" | "sms";
            name: string;
            data: components["schemas"]["CampaignData"];
            /** Format: date-time */
            scheduled_at: string | null;
            sent_count: number;
            revision: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            trigger: components["schemas"]["CampaignTrigger"];
            template: components["schemas"]["TemplateSummary"];
            templates: components["schemas"]["TemplateSummary"][];
        };
        CampaignTrigger: {
            id: number;
            flow_id: number | null;
            segment_id: number | null;
            contact_list_id: number | null;
            triggered_count: number;
            event: string | null;
            data: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            last_triggered_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        Channel: {
            id: number;
            contact_id: number;
            /** @enum {string} */
            kind: "email" | "phone";
            value: string;
            subscribed: boolean;
            verified: boolean;
            /** Format: date-time */
            opt_in_at: string | null;
            /** Format: date-time */
            opt_out_at: string | null;
            sent_count: number;
            fail_count: number;
            data: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        CheckProblem: {
            field: string;
            code: string;
            message: string;
            /** @enum {string} */
            severity: "error" | "warning";
        };
        CheckedContent: {
            problems: components["schemas"]["CheckProblem"][];
            errors: {
                [key: string]: string[];
            };
            warnings: components["schemas"]["TemplateProblem"][];
            variables: string[];
        };
        ColumnsSection: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "columns";
            props: {
                columns: components["schemas"]["DesignColumn"][];
            };
            styles?: components["schemas"]["SectionStyles"];
        };
        ColumnsSectionInput: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "columns";
            props: {
                columns: components["schemas"]["DesignColumnInput"][];
            };
            styles?: components["schemas"]["SectionStylesInput"];
        };
        ConditionStep: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "condition";
            id?: number;
            ref?: string;
            filters: components["schemas"]["Filter"][];
            yes?: components["schemas"]["FlowStepInput"][] | null;
            no?: components["schemas"]["FlowStepInput"][] | null;
        };
        Contact: {
            id: number;
            /** Format: uuid */
            uuid: string;
            first_name: string | null;
            last_name: string | null;
            source: string | null;
            country_code: string | null;
            data: {
                [key: string]: unknown;
            };
            subscribed_phone: boolean;
            subscribed_email: boolean;
            /** @enum {string} */
            verification_status: "verified" | "suppressed" | "unverified";
            /** @enum {string} */
            enrichment_status: "enriched" | "not_enriched";
            list_ids: number[];
            /** Format: date-time */
            last_interacted_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            channels: components["schemas"]["Channel"][];
        };
        ContactList: {
            id: number;
            account_id: number;
            name: string;
            description: string | null;
            visible: boolean;
            contacts_count: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        Conversation: {
            id: number;
            inbox_id: number;
            contact_id: number | null;
            subject: string | null;
            /** @enum {string} */
            status: "open" | "closed";
            assignee_id: number | null;
            unread_count: number;
            linked_conversation_id: number | null;
            /** Format: date-time */
            last_message_at: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        ConversationAttachment: {
            id: number;
            filename: string;
            content_type: string;
            size: number;
            scanned: boolean;
            scan: {
                /** @enum {string} */
                status: "pending" | "clean" | "infected" | "skipped";
                reason: string | null;
            };
        };
        ConversationBulkAction: {
            id: number;
            /** @enum {string} */
            action: "delete";
            filter: {
                [key: string]: unknown;
            };
            dry_run: boolean;
            /** @enum {string} */
            status: "queued" | "counting" | "running" | "completed" | "canceled" | "failed";
            /** @enum {string|null} */
            error: "too_slow" | "internal_error" | null;
            total_count: number | null;
            processed_count: number;
            changed_count: number;
            failed_count: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            started_at: string | null;
            /** Format: date-time */
            finished_at: string | null;
        };
        ConversationFilter: {
            /** @constant */
            all?: true;
            inbox_id?: number;
            contact_id?: number;
            assignee_id?: number;
            /** @enum {string} */
            status?: "open" | "closed";
            unread?: boolean;
            /** Format: email */
            email?: string;
            /** @example example.com */
            domain?: string;
            proved?: boolean;
            /** Format: date-time */
            created_after?: string;
            /** Format: date-time */
            created_before?: string;
        };
        ConversationMessage: {
            id: number;
            conversation_id: number | null;
            inbox_id: number;
            /** @enum {string} */
            direction: "inbound" | "outbound";
            message_id: number | null;
            /** @enum {string|null} */
            status: "queued" | "held" | "sent" | "delivered" | "bounced" | "complained" | "failed" | "unknown" | "skipped" | "canceled" | null;
            from: string;
            to: string[];
            cc: string[];
            reply_to: string | null;
            /** Format: date-time */
            date: string | null;
            message_id_header: string | null;
            raw_available: boolean;
            subject: string | null;
            text: string | null;
            html: string | null;
            truncated: boolean;
            auto_submitted: boolean;
            authentication: components["schemas"]["MailAuthentication"] | null;
            quarantine: components["schemas"]["Quarantine"] | null;
            attachments: components["schemas"]["ConversationAttachment"][];
            files?: {
                n: number;
                filename: string;
                content_type: string;
                size: number;
            }[];
            /** Format: date-time */
            received_at: string;
            repeated_count: number;
            /** Format: date-time */
            last_repeated_at: string | null;
        };
        CreatedApiKey: {
            id: number;
            brand_id: number;
            name: string;
            prefix: string;
            test: boolean;
            scopes: "send"[] | null;
            rate_limit_per_second: number | null;
            /** Format: date-time */
            last_used_at: string | null;
            /** Format: date-time */
            revoked_at: string | null;
            /** Format: date-time */
            created_at: string;
            key: string | null;
        };
        CreatedMessage: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            status: "created";
            message: components["schemas"]["AcceptedMessage"] | null;
        };
        Design: {
            /** @default [] */
            sections: components["schemas"]["DesignSection"][];
            /** @default {} */
            theme: components["schemas"]["DesignTheme"];
        };
        DesignColumn: {
            sections: components["schemas"]["PlainSection"][];
        };
        DesignColumnInput: {
            sections: components["schemas"]["PlainSectionInput"][];
        };
        DesignHtml: {
            html: string | null;
            problems: components["schemas"]["TemplateProblem"][];
        };
        DesignInput: {
            sections?: components["schemas"]["DesignSectionInput"][];
            theme?: components["schemas"]["DesignThemeInput"];
        };
        DesignSection: components["schemas"]["HeaderSection"] | components["schemas"]["TextSection"] | components["schemas"]["ImageSection"] | components["schemas"]["ButtonSection"] | components["schemas"]["DividerSection"] | components["schemas"]["SpacerSection"] | components["schemas"]["SocialSection"] | components["schemas"]["HtmlSection"] | components["schemas"]["FooterSection"] | components["schemas"]["ColumnsSection"];
        DesignSectionInput: components["schemas"]["HeaderSectionInput"] | components["schemas"]["TextSectionInput"] | components["schemas"]["ImageSectionInput"] | components["schemas"]["ButtonSectionInput"] | components["schemas"]["DividerSectionInput"] | components["schemas"]["SpacerSectionInput"] | components["schemas"]["SocialSectionInput"] | components["schemas"]["HtmlSectionInput"] | components["schemas"]["FooterSectionInput"] | components["schemas"]["ColumnsSectionInput"];
        DesignTheme: {
            brand_color?: string;
            bg_color?: string;
            text_color?: string;
            font_body?: string;
            font_heading?: string;
            logo_url?: string;
        };
        DesignThemeInput: {
            brand_color?: string;
            bg_color?: string;
            text_color?: string;
            font_body?: string;
            font_heading?: string;
            logo_url?: string;
        };
        DividerSection: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "divider";
            /** @default {} */
            props: Record<string, never>;
            styles?: components["schemas"]["SectionStyles"];
        };
        DividerSectionInput: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "divider";
            props?: Record<string, never>;
            styles?: components["schemas"]["SectionStylesInput"];
        };
        Domain: {
            id: number;
            name: string;
            provider: string;
            /** @enum {string} */
            status: "pending" | "verified" | "failed";
            dns_records: {
                /** @enum {string} */
                record_type: "TXT" | "CNAME" | "MX";
                name: string;
                value: string;
                priority: string;
                /** @enum {string} */
                valid: "true" | "false" | "unknown";
                /** @enum {string} */
                required: "true" | "false";
                found?: string;
            }[] | null;
            provider_error: string | null;
            /** Format: date-time */
            verified_at: string | null;
            /** Format: date-time */
            created_at: string;
        };
        Draft: {
            id: number;
            /** @enum {string} */
            kind: "templates" | "campaigns" | "flows" | "segments";
            resource_id: number;
            base: string;
            revision: number;
            updated_by: {
                id: number;
                name: string;
            } | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            content: {
                [key: string]: unknown;
            };
            base_content: {
                [key: string]: unknown;
            } | null;
            resource_changed_by: {
                id: number;
                name: string;
            } | null;
        };
        DraftSummary: {
            id: number;
            /** @enum {string} */
            kind: "templates" | "campaigns" | "flows" | "segments";
            resource_id: number;
            base: string;
            revision: number;
            updated_by: {
                id: number;
                name: string;
            } | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        EmailMessage: {
            id?: unknown;
            letter_id?: unknown;
            account_id?: unknown;
            brand_id?: unknown;
            status?: unknown;
            contact_id?: unknown;
            campaign_id?: unknown;
            flow_id?: unknown;
            idempotency_key?: unknown;
            provider?: unknown;
            provider_message_id?: unknown;
            segments?: unknown;
            test?: unknown;
            answers_mail?: unknown;
            failure?: unknown;
            bounce?: unknown;
            hold?: unknown;
            queued_at?: unknown;
            sent_at?: unknown;
            delivered_at?: unknown;
            opened_at?: unknown;
            clicked_at?: unknown;
            created_at?: unknown;
            updated_at?: unknown;
            opaque?: unknown;
            recipients?: unknown;
            text?: unknown;
            events?: unknown;
            warnings?: unknown;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            channel: "email";
            to: string | string[];
            cc?: string | string[];
            bcc?: string | string[];
            subject?: string;
            html?: string;
            body?: string;
            template_id?: number;
            variables?: {
                [key: string]: unknown;
            };
            from?: string;
            from_email?: string;
            reply_to?: string | string[];
            in_reply_to?: string;
            references?: string[];
            headers?: {
                [key: string]: string;
            };
            tags?: {
                [key: string]: string;
            };
            tracking?: {
                opens?: boolean;
                clicks?: boolean;
            };
            /** Format: date-time */
            scheduled_at?: string;
            attachments?: components["schemas"]["NewAttachment"][];
        };
        EmailStep: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "email";
            id?: number;
            ref?: string;
            template_id?: number;
            subject?: string | null;
            preheader?: string | null;
            body?: string | null;
            design?: components["schemas"]["DesignInput"] | null;
            from_name?: string | null;
            /** Format: email */
            from_email?: string | null;
            /** Format: email */
            reply_to?: string | null;
        };
        EventStep: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "event";
            id?: number;
            ref?: string;
            event_name: string;
            forward_event_data?: boolean;
            data?: {
                [key: string]: unknown;
            };
        };
        ExitStep: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "exit";
            id?: number;
            ref?: string;
            reason?: string;
        };
        Export: {
            id: number;
            /** @enum {string} */
            resource: "contacts" | "suppressions" | "messages";
            /** @enum {string} */
            status: "queued" | "processing" | "completed" | "failed" | "canceled";
            total_rows: number | null;
            processed_rows: number;
            /** Format: uri */
            url: string | null;
            filters: {
                [key: string]: string | number | boolean;
            };
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            started_at: string | null;
            /** Format: date-time */
            finished_at: string | null;
            /** Format: date-time */
            expires_at: string | null;
            /** @enum {string|null} */
            error: "quota_exceeded" | "timed_out" | "too_slow" | "invalid_filters" | "internal_error" | null;
        };
        FieldTime: {
            field: string;
            offset_seconds?: number;
            /** @enum {string} */
            if_past?: "continue" | "exit";
            /** @enum {string} */
            if_unreadable?: "continue" | "exit";
        };
        Filter: {
            name: string;
            /** @enum {string} */
            predicate: "eq" | "not_eq" | "in" | "not_in" | "cont" | "not_cont" | "start" | "end" | "gt" | "gteq" | "lt" | "lteq" | "between" | "present" | "blank" | "true" | "false" | "within_last" | "older_than" | "did" | "did_not" | "or" | "and";
            value?: unknown;
        };
        FilterNames: {
            data: {
                /** @example plan */
                path: string;
                types: ("text" | "number" | "boolean" | "date" | "time")[];
            }[];
            events: string[];
        };
        FilterWarning: {
            /** @example filters.2.value.0 */
            path: string;
            message: string;
        };
        Flow: {
            id: number;
            account_id: number;
            /** @enum {string} */
            status: "draft" | "active" | "paused" | "archived";
            /** @enum {string} */
            approval_state: "not_required" | "pending" | "approved" | "rejected";
            name: string;
            goal: string | null;
            /** @enum {string} */
            unknown: "leave" | "resend";
            trigger: components["schemas"]["FlowTrigger"];
            steps: components["schemas"]["FlowStep"][];
            sent_count: number;
            stop: {
                /** @enum {string} */
                reason: "bounce_rate" | "complaint_rate" | "rejected";
                rate: number | null;
                threshold: number | null;
                /** Format: date-time */
                at: string;
            } | null;
            revision: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            templates: components["schemas"]["Template"][];
        };
        FlowCheck: {
            problems: components["schemas"]["CheckProblem"][];
        };
        FlowReport: {
            flow_id: number;
            /** Format: date */
            from: string | null;
            /** Format: date */
            to: string | null;
            entered_count: number;
            not_entered: {
                [key: string]: number;
            };
            in_progress_count: number | null;
            completed_count: number;
            exited: {
                [key: string]: number;
            };
            canceled: {
                [key: string]: number;
            };
            goal_count: number;
            goal_rate: number | null;
            messages: {
                accepted_count: number;
                sent_count: number;
                delivered_count: number;
                opened_count: number;
                clicked_count: number;
                bounced_count: number;
                complained_count: number;
                failed_count: number;
                skipped_count: number;
                unknown_count: number;
                resent_count: number;
                canceled_count: number;
                rates: {
                    delivered: number | null;
                    opened: number | null;
                    clicked: number | null;
                    clicked_of_opened: number | null;
                    bounced: number | null;
                    complained: number | null;
                };
            };
            steps: {
                step_id: number;
                type: string | null;
                in_progress_count: number | null;
                messages: {
                    accepted_count: number;
                    not_accepted: {
                        [key: string]: number;
                    };
                    sent_count: number;
                    delivered_count: number;
                    opened_count: number;
                    clicked_count: number;
                    bounced_count: number;
                    complained_count: number;
                    failed_count: number;
                    skipped_count: number;
                    unknown_count: number;
                    resent_count: number;
                    canceled_count: number;
                    rates: {
                        delivered: number | null;
                        opened: number | null;
                        clicked: number | null;
                        clicked_of_opened: number | null;
                        bounced: number | null;
                        complained: number | null;
                    };
                } | null;
            }[];
        };
        FlowRun: {
            id: number;
            flow_id: number;
            contact_id: number;
            contact: components["schemas"]["FlowRunContact"] | null;
            version: number | null;
            /** @enum {string} */
            state: "active" | "completed" | "exited" | "canceled";
            reason: string | null;
            step_id: number | null;
            /** @enum {string|null} */
            waits_for: "time" | "event" | "webhook" | "quiet_hours" | "resume" | null;
            /** Format: date-time */
            due_at: string | null;
            failures: number;
            /** Format: date-time */
            retry_at: string | null;
            workflow_id: string;
            cohort: components["schemas"]["FlowRunCohort"] | null;
            /** @enum {string} */
            cause: "event" | "list" | "segment" | "request";
            test: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            ended_at: string | null;
            event: {
                id: number;
                name: string;
            } | null;
            path: {
                step_id: number;
                type: string;
                outcome: string | null;
                detail: {
                    [key: string]: unknown;
                } | null;
                message: components["schemas"]["FlowRunMessage"] | null;
                event_id: number | null;
                /** Format: date-time */
                entered_at: string;
                /** Format: date-time */
                left_at: string | null;
            }[];
        };
        FlowRunCohort: {
            number: number;
            size: number;
        };
        FlowRunContact: {
            first_name: string | null;
            last_name: string | null;
            email: string | null;
            phone: string | null;
        };
        FlowRunMessage: {
            id: number;
            /** @enum {string} */
            status: "queued" | "held" | "sent" | "delivered" | "bounced" | "complained" | "failed" | "unknown" | "skipped" | "canceled";
            failure: {
                code: string;
                message: string;
            } | null;
            attempt_count: number;
            /** Format: date-time */
            unknown_at: string | null;
        };
        FlowRunSummary: {
            id: number;
            flow_id: number;
            contact_id: number;
            contact: components["schemas"]["FlowRunContact"] | null;
            version: number | null;
            /** @enum {string} */
            state: "active" | "completed" | "exited" | "canceled";
            reason: string | null;
            step_id: number | null;
            /** @enum {string|null} */
            waits_for: "time" | "event" | "webhook" | "quiet_hours" | "resume" | null;
            /** Format: date-time */
            due_at: string | null;
            failures: number;
            /** Format: date-time */
            retry_at: string | null;
            workflow_id: string;
            cohort: components["schemas"]["FlowRunCohort"] | null;
            /** @enum {string} */
            cause: "event" | "list" | "segment" | "request";
            test: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            ended_at: string | null;
        };
        FlowSimulation: {
            passes_filters: boolean;
            path: {
                step_id: number;
                position: string;
                type: string;
                /** Format: date-time */
                entered_at: string;
                /** Format: date-time */
                left_at: string;
                outcome: string;
                detail: {
                    [key: string]: unknown;
                } | null;
            }[];
            ends: {
                /** @enum {string} */
                state: "active" | "completed" | "exited";
                reason: string;
                /** Format: date-time */
                at: string;
            };
        };
        FlowStep: {
            /** @enum {string} */
            type: "email" | "sms" | "wait" | "condition" | "wait_for_event" | "event" | "update_contact" | "add_to_list" | "remove_from_list" | "webhook" | "split" | "exit";
            id: number;
            template_id?: number;
            subject?: string | null;
            preheader?: string | null;
            body?: unknown;
            design?: components["schemas"]["Design"] | null;
            from_name?: string | null;
            from_email?: string | null;
            reply_to?: string | null;
            duration?: number;
            until?: {
                [key: string]: unknown;
            };
            filters?: {
                name: string;
                predicate: string;
                value?: unknown;
            }[];
            event_name?: string;
            include_since?: "entry" | components["schemas"]["SinceStep"];
            forward_event_data?: boolean;
            data?: {
                [key: string]: unknown;
            };
            list_id?: number;
            url?: string;
            method?: string;
            headers?: {
                [key: string]: unknown;
            };
            reason?: string;
            yes?: components["schemas"]["FlowStep"][];
            no?: components["schemas"]["FlowStep"][];
            branches?: {
                weight: number;
                steps: components["schemas"]["FlowStep"][];
            }[];
        };
        FlowStepInput: components["schemas"]["EmailStep"] | components["schemas"]["SmsStep"] | components["schemas"]["WaitStep"] | components["schemas"]["ConditionStep"] | components["schemas"]["WaitForEventStep"] | components["schemas"]["EventStep"] | components["schemas"]["UpdateContactStep"] | components["schemas"]["AddToListStep"] | components["schemas"]["RemoveFromListStep"] | components["schemas"]["WebhookStep"] | components["schemas"]["SplitStep"] | components["schemas"]["ExitStep"];
        FlowSummary: {
            id: number;
            account_id: number;
            /** @enum {string} */
            status: "draft" | "active" | "paused" | "archived";
            /** @enum {string} */
            approval_state: "not_required" | "pending" | "approved" | "rejected";
            name: string;
            goal: string | null;
            /** @enum {string} */
            unknown: "leave" | "resend";
            trigger: components["schemas"]["FlowTrigger"];
            steps: components["schemas"]["FlowStep"][];
            sent_count: number;
            stop: {
                /** @enum {string} */
                reason: "bounce_rate" | "complaint_rate" | "rejected";
                rate: number | null;
                threshold: number | null;
                /** Format: date-time */
                at: string;
            } | null;
            revision: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            templates: components["schemas"]["TemplateSummary"][];
        };
        FlowTrigger: {
            event: string | null;
            segment_id: number | null;
            contact_list_id: number | null;
            data: {
                filters?: {
                    name: string;
                    predicate: string;
                    value?: unknown;
                }[];
                exit_filters?: {
                    name: string;
                    predicate: string;
                    value?: unknown;
                }[];
                reentry?: ("once" | "every_time") | components["schemas"]["ReentryDelay"];
            };
        };
        FlowTriggerInput: {
            event?: string | null;
            contact_list_id?: number | null;
            segment_id?: number | null;
            data?: {
                filters?: components["schemas"]["Filter"][];
                exit_filters?: components["schemas"]["Filter"][];
                reentry?: ("once" | "every_time") | components["schemas"]["ReentryDelayInput"];
            } | null;
        };
        FlowVersion: {
            id: number;
            flow_id: number;
            number: number;
            /** @enum {string} */
            state: "current" | "pending" | "earlier";
            goal: string | null;
            trigger: components["schemas"]["FlowTrigger"];
            active_run_count: number | null;
            /** Format: date-time */
            created_at: string;
            steps: components["schemas"]["FlowStep"][];
        };
        FlowVersionSummary: {
            id: number;
            flow_id: number;
            number: number;
            /** @enum {string} */
            state: "current" | "pending" | "earlier";
            goal: string | null;
            trigger: components["schemas"]["FlowTrigger"];
            active_run_count: number | null;
            /** Format: date-time */
            created_at: string;
        };
        FooterSection: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "footer";
            /** @default {} */
            props: {
                html?: string;
            };
            styles?: components["schemas"]["SectionStyles"];
        };
        FooterSectionInput: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "footer";
            props?: {
                html?: string;
            };
            styles?: components["schemas"]["SectionStylesInput"];
        };
        HeaderSection: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "header";
            /** @default {} */
            props: {
                logo_url?: string;
                title?: string;
            };
            styles?: components["schemas"]["SectionStyles"];
        };
        HeaderSectionInput: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "header";
            props?: {
                logo_url?: string;
                title?: string;
            };
            styles?: components["schemas"]["SectionStylesInput"];
        };
        HtmlSection: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "html";
            props: {
                html: string;
            };
            styles?: components["schemas"]["SectionStyles"];
        };
        HtmlSectionInput: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "html";
            props: {
                html: string;
            };
            styles?: components["schemas"]["SectionStylesInput"];
        };
        ImageSection: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "image";
            props: {
                src: string;
                alt?: string;
                href?: string;
            };
            styles?: components["schemas"]["SectionStyles"];
        };
        ImageSectionInput: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "image";
            props: {
                src: string;
                alt?: string;
                href?: string;
            };
            styles?: components["schemas"]["SectionStylesInput"];
        };
        Import: {
            id: number;
            /** @enum {string} */
            resource: "contacts" | "suppressions";
            filename: string;
            /** @enum {string} */
            status: "queued" | "processing" | "completed" | "failed" | "canceled";
            total_rows: number | null;
            processed_rows: number;
            created_count: number;
            updated_count: number;
            unchanged_count: number;
            duplicate_count: number;
            failed_count: number;
            columns: components["schemas"]["ImportColumn"][] | null;
            warning_count: number;
            warnings: {
                row: number | null;
                column: string | null;
                code: string;
                message: string;
            }[];
            encoding: {
                /** @enum {string} */
                name: "utf-8" | "utf-16le" | "utf-16be" | "windows-1250" | "windows-1251" | "windows-1252" | "windows-1253" | "windows-1254" | "windows-1255" | "windows-1256" | "windows-1257" | "windows-1258" | "windows-874" | "iso-8859-2" | "iso-8859-3" | "iso-8859-4" | "iso-8859-5" | "iso-8859-6" | "iso-8859-7" | "iso-8859-8" | "iso-8859-10" | "iso-8859-13" | "iso-8859-14" | "iso-8859-15" | "iso-8859-16" | "koi8-r" | "koi8-u" | "macintosh" | "x-mac-cyrillic" | "x-mac-ce" | "ibm437" | "ibm850" | "ibm852" | "ibm866" | "shift_jis" | "euc-jp" | "gbk" | "gb18030" | "big5" | "euc-kr";
                detected: boolean;
                samples: string[];
            } | null;
            errors: {
                row: number | null;
                column: string | null;
                code: string;
                message: string;
            }[];
            /** Format: uri */
            errors_url: string | null;
            options: {
                /** @default [] */
                list_ids: number[];
                /** @default {} */
                mapping: {
                    [key: string]: string | {
                        /** @enum {string} */
                        field: "subscribed" | "subscribed_email" | "subscribed_phone" | "unsubscribed" | "unsubscribed_email" | "unsubscribed_phone" | "confirmed" | "confirmed_email" | "confirmed_phone" | "opted_out_at" | "opted_out_at_email" | "opted_out_at_phone" | "opted_in_at" | "opted_in_at_email" | "opted_in_at_phone" | "bounced" | "complained";
                        words?: {
                            [key: string]: "subscribed" | "never_subscribed" | "pending" | "bounced" | "unsubscribed" | "complained" | null;
                        };
                        invert?: boolean;
                    } | null;
                };
                /** @default true */
                update_existing: boolean;
                /** @default true */
                subscribe: boolean;
                /**
                 * @default null
                 * @enum {string|null}
                 */
                status: "never_subscribed" | "pending" | "bounced" | "unsubscribed" | "complained" | null;
                country_code?: string | null;
                /** @enum {string|null} */
                reason?: "hard_bounce" | "soft_bounce" | "complaint" | "manual" | null;
                /** @enum {string|null} */
                encoding?: "utf-8" | "utf-16le" | "utf-16be" | "windows-1250" | "windows-1251" | "windows-1252" | "windows-1253" | "windows-1254" | "windows-1255" | "windows-1256" | "windows-1257" | "windows-1258" | "windows-874" | "iso-8859-2" | "iso-8859-3" | "iso-8859-4" | "iso-8859-5" | "iso-8859-6" | "iso-8859-7" | "iso-8859-8" | "iso-8859-10" | "iso-8859-13" | "iso-8859-14" | "iso-8859-15" | "iso-8859-16" | "koi8-r" | "koi8-u" | "macintosh" | "x-mac-cyrillic" | "x-mac-ce" | "ibm437" | "ibm850" | "ibm852" | "ibm866" | "shift_jis" | "euc-jp" | "gbk" | "gb18030" | "big5" | "euc-kr" | null;
                /** @default false */
                dry_run: boolean;
            };
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            started_at: string | null;
            /** Format: date-time */
            finished_at: string | null;
        };
        ImportColumn: {
            name: string;
            used_as: string | null;
            examples: string[];
            words: {
                [key: string]: "subscribed" | "never_subscribed" | "pending" | "bounced" | "unsubscribed" | "complained" | null;
            } | null;
            ignored_because: string | null;
        };
        Inbox: {
            id: number;
            brand_id: number;
            domain_id: number | null;
            address: string;
            name: string | null;
            enabled: boolean;
            /** @enum {string|null} */
            mx_status: "pending" | "verified" | "failed" | null;
            create_contacts: boolean;
            evicted_count: number;
            /** Format: date-time */
            last_evicted_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        InboxBlock: {
            id: number;
            email: string | null;
            domain: string | null;
            /** Format: date-time */
            created_at: string;
        };
        InboxUsage: {
            used_bytes: number;
            quarantined_bytes: number;
            unproved_bytes: number;
            quota_bytes: number;
            evicted_count: number;
            evicted_bytes: number;
            /** Format: date-time */
            last_evicted_at: string | null;
        };
        Invitation: {
            id: number;
            email: string;
            /** @enum {string} */
            role: "owner" | "admin" | "member";
            /** @enum {string} */
            status: "pending" | "expired";
            invited_by: number | null;
            /** Format: date-time */
            expires_at: string;
            /** Format: date-time */
            created_at: string;
        };
        LocalTime: {
            time: string;
            weekdays?: number[];
            timezone?: string;
        };
        MailAuthentication: {
            spf: {
                result: string;
                domain: string | null;
            };
            dkim: {
                result: string;
                domain: string | null;
            };
            dmarc: {
                result: string;
                domain: string | null;
                policy: string | null;
            };
            arc: {
                result: string;
                domain: string | null;
            };
            aligned: boolean;
        };
        McpAnswer: {
            /** @constant */
            jsonrpc: "2.0";
            result?: {
                [key: string]: unknown;
            };
            error?: {
                code: number;
                message: string;
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        McpCall: {
            id: number;
            /** Format: date-time */
            created_at: string;
            grant_id: number;
            user_id: number;
            user_email: string | null;
            client_id: string;
            client_name: string;
            brand_id: number | null;
            tool: string;
            operation: string | null;
            resource_id: string | null;
            outcome: string | null;
            request_id: string;
        };
        McpGrant: {
            id: number;
            user_id: number;
            user_email: string;
            client_name: string;
            client_host: string | null;
            redirect_host: string;
            scopes: ("mcp:read" | "mcp:write" | "mcp:send" | "mcp:inbox")[];
            brand_ids: number[];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            last_used_at: string | null;
            /** Format: date-time */
            expires_at: string;
        };
        McpMessage: {
            /** @constant */
            jsonrpc: "2.0";
            id?: unknown;
            method?: string;
            params?: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        Member: {
            id: number;
            first_name: string;
            last_name: string;
            email: string;
            /** @enum {string} */
            role: "owner" | "admin" | "member";
            second_factor: boolean;
            /** Format: date-time */
            last_active_at: string | null;
            /** Format: date-time */
            created_at: string;
        };
        Message: {
            id: number;
            letter_id?: number;
            account_id: number;
            brand_id: number;
            /** @enum {string} */
            channel: "email" | "sms";
            /** @enum {string} */
            status: "queued" | "held" | "sent" | "delivered" | "bounced" | "complained" | "failed" | "unknown" | "skipped" | "canceled" | "sending" | "scheduled";
            to: string | null;
            from: string | null;
            reply_to: string | null;
            subject: string | null;
            template_id: number | null;
            contact_id: number | null;
            campaign_id: number | null;
            flow_id: number | null;
            tags: {
                [key: string]: string;
            };
            headers: {
                [key: string]: string;
            };
            tracking: {
                opens: boolean | null;
                clicks: boolean | null;
            };
            idempotency_key: string | null;
            provider: string | null;
            provider_message_id: string | null;
            segments: number | null;
            test: boolean;
            answers_mail: boolean;
            failure: {
                code: string;
                message: string;
            } | null;
            bounce: {
                /** @enum {string} */
                type: "hard" | "soft";
                subtype: string;
                diagnostic: string;
            } | null;
            hold: {
                /** @enum {string} */
                reason: "account_paused" | "domain_unverified" | "warm_up" | "pacing" | "allowance" | "spend_cap" | "wallet" | "provider_unavailable" | "provider_cannot_take";
                /** Format: date-time */
                until: string | null;
            } | null;
            /** Format: date-time */
            queued_at: string | null;
            /** Format: date-time */
            scheduled_at: string | null;
            /** Format: date-time */
            sent_at: string | null;
            /** Format: date-time */
            delivered_at: string | null;
            /** Format: date-time */
            opened_at: string | null;
            /** Format: date-time */
            clicked_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        MessageAttachment: {
            n: number;
            filename: string;
            content_type: string;
            size: number;
            sha256: string;
            content_id: string | null;
            /** @enum {string} */
            disposition: "attachment" | "inline";
        };
        MessageBatch: {
            created: number;
            replayed: number;
            refused: number;
            results: (components["schemas"]["CreatedMessage"] | components["schemas"]["ReplayedMessage"] | components["schemas"]["RefusedMessage"])[];
        };
        MessageDetail: {
            id: number;
            letter_id?: number;
            account_id: number;
            brand_id: number;
            /** @enum {string} */
            channel: "email" | "sms";
            /** @enum {string} */
            status: "queued" | "held" | "sent" | "delivered" | "bounced" | "complained" | "failed" | "unknown" | "skipped" | "canceled" | "sending" | "scheduled";
            to: string | null;
            from: string | null;
            reply_to: string | null;
            subject: string | null;
            template_id: number | null;
            contact_id: number | null;
            campaign_id: number | null;
            flow_id: number | null;
            tags: {
                [key: string]: string;
            };
            headers: {
                [key: string]: string;
            };
            tracking: {
                opens: boolean | null;
                clicks: boolean | null;
            };
            idempotency_key: string | null;
            provider: string | null;
            provider_message_id: string | null;
            segments: number | null;
            test: boolean;
            answers_mail: boolean;
            failure: {
                code: string;
                message: string;
            } | null;
            bounce: {
                /** @enum {string} */
                type: "hard" | "soft";
                subtype: string;
                diagnostic: string;
            } | null;
            hold: {
                /** @enum {string} */
                reason: "account_paused" | "domain_unverified" | "warm_up" | "pacing" | "allowance" | "spend_cap" | "wallet" | "provider_unavailable" | "provider_cannot_take";
                /** Format: date-time */
                until: string | null;
            } | null;
            /** Format: date-time */
            queued_at: string | null;
            /** Format: date-time */
            scheduled_at: string | null;
            /** Format: date-time */
            sent_at: string | null;
            /** Format: date-time */
            delivered_at: string | null;
            /** Format: date-time */
            opened_at: string | null;
            /** Format: date-time */
            clicked_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @constant */
            opaque?: true;
            attachments?: components["schemas"]["MessageAttachment"][];
            recipients?: {
                message_id: number;
                /** @enum {string} */
                kind: "to" | "cc" | "bcc";
                address: string | null;
                /** @enum {string} */
                status: "queued" | "held" | "sent" | "delivered" | "bounced" | "complained" | "failed" | "unknown" | "skipped" | "canceled" | "sending" | "scheduled";
            }[];
            html: string | null;
            text: string | null;
            events: {
                /** @enum {string} */
                type: "held" | "released" | "sent" | "delivered" | "bounced" | "complained" | "deferred" | "failed" | "unknown" | "opened" | "clicked";
                attempt: number;
                /** Format: date-time */
                occurred_at: string;
                data: {
                    [key: string]: unknown;
                };
            }[];
        };
        MessageOfBatch: {
            /** @enum {string} */
            channel?: "email" | "sms";
            to?: string | string[];
            cc?: string | string[];
            bcc?: string | string[];
            subject?: string;
            html?: string;
            body?: string;
            template_id?: number;
            variables?: {
                [key: string]: unknown;
            };
            from?: string;
            from_email?: string;
            reply_to?: string | string[];
            in_reply_to?: string;
            references?: string[];
            headers?: {
                [key: string]: string;
            };
            tags?: {
                [key: string]: string;
            };
            tracking?: {
                opens?: boolean;
                clicks?: boolean;
            };
            /** Format: date-time */
            scheduled_at?: string;
            attachments?: components["schemas"]["NewAttachment"][];
            idempotency_key?: string;
        };
        NewAttachment: {
            filename?: string;
            content?: string;
            attachment_id?: number;
            content_type?: string;
            content_id?: string;
            /** @enum {string} */
            disposition?: "attachment" | "inline";
        };
        NewInvitation: {
            id: number;
            email: string;
            /** @enum {string} */
            role: "owner" | "admin" | "member";
            /** @enum {string} */
            status: "pending" | "expired";
            invited_by: number | null;
            /** Format: date-time */
            expires_at: string;
            /** Format: date-time */
            created_at: string;
            link: string | null;
        };
        OwnAccount: {
            id: number;
            name: string;
            /** @enum {string} */
            role: "owner" | "admin" | "member";
            brands: components["schemas"]["OwnAccountBrand"][];
        };
        OwnAccountBrand: {
            id: number;
            company_name: string;
        };
        OwnInvitation: {
            account_name: string | null;
            email: string;
            /** @enum {string} */
            role: "owner" | "admin" | "member";
            /** Format: date-time */
            expires_at: string;
            id: number;
            account_id: number;
            /** Format: date-time */
            created_at: string;
        };
        OwnUser: {
            id: number;
            first_name: string;
            last_name: string;
            email: string;
            mobile: string;
            country_code: string;
            admin: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            temporal_ui_url: string | null;
            temporal_namespace: string | null;
            mailbox_url: string | null;
        };
        PasswordReset: {
            email: string;
            /** Format: date-time */
            expires_at: string;
        };
        PasswordResetRequest: {
            email: string;
        };
        PlainSection: components["schemas"]["HeaderSection"] | components["schemas"]["TextSection"] | components["schemas"]["ImageSection"] | components["schemas"]["ButtonSection"] | components["schemas"]["DividerSection"] | components["schemas"]["SpacerSection"] | components["schemas"]["SocialSection"] | components["schemas"]["HtmlSection"] | components["schemas"]["FooterSection"];
        PlainSectionInput: components["schemas"]["HeaderSectionInput"] | components["schemas"]["TextSectionInput"] | components["schemas"]["ImageSectionInput"] | components["schemas"]["ButtonSectionInput"] | components["schemas"]["DividerSectionInput"] | components["schemas"]["SpacerSectionInput"] | components["schemas"]["SocialSectionInput"] | components["schemas"]["HtmlSectionInput"] | components["schemas"]["FooterSectionInput"];
        Preview: {
            url: string;
            /** Format: date-time */
            expires_at: string;
        };
        ProtectedResource: {
            /** Format: uri */
            resource: string;
            resource_name: string;
            authorization_servers: string[];
            scopes_supported: ("mcp:read" | "mcp:write" | "mcp:send" | "mcp:inbox")[];
            bearer_methods_supported: "header"[];
        };
        Quarantine: {
            /** @enum {string} */
            reason: "spam" | "blocked" | "virus" | "unreadable" | "storage";
            detail: string | null;
            /** Format: date-time */
            released_at: string | null;
        };
        RecoveryCodes: {
            recovery_codes: string[];
        };
        ReentryDelay: {
            after_seconds: number;
        };
        ReentryDelayInput: {
            after_seconds: number;
        };
        RefusedMessage: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            status: "refused";
            error: {
                code: string;
                message: string;
                validation_errors: {
                    [key: string]: string[];
                };
            };
        };
        RemoveFromListStep: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "remove_from_list";
            id?: number;
            ref?: string;
            list_id: number;
        };
        RenderedTemplate: {
            subject: string | null;
            html: string | null;
            text: string | null;
            sms: components["schemas"]["SmsSize"] | null;
            problems: components["schemas"]["TemplateProblem"][];
        };
        ReplayedMessage: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            status: "replayed";
            message: components["schemas"]["AcceptedMessage"] | null;
        };
        Reply: {
            text?: string;
            html?: string;
            subject?: string;
            to?: string;
            attachments?: components["schemas"]["NewAttachment"][];
        };
        SearchResult: {
            /** @enum {string} */
            type: "contact" | "message" | "campaign" | "flow" | "flow_run" | "template" | "list" | "segment" | "suppression" | "conversation" | "import" | "export" | "validation_operation" | "bulk_action" | "webhook" | "domain";
            id: number;
            title: string | null;
            has_mail: boolean;
            status: string | null;
            path: string;
        };
        SecondFactor: {
            enabled: boolean;
            recovery_codes_left: number;
        };
        SecondFactorSecret: {
            secret: string;
            uri: string;
        };
        SectionStyles: {
            background_color?: string;
            padding?: string;
            /** @enum {string} */
            align?: "left" | "center" | "right";
        };
        SectionStylesInput: {
            background_color?: string;
            padding?: string;
            /** @enum {string} */
            align?: "left" | "center" | "right";
        };
        Segment: {
            id: number;
            account_id: number;
            name: string;
            filters: {
                name: string;
                /** @enum {string} */
                predicate: "eq" | "not_eq" | "in" | "not_in" | "cont" | "not_cont" | "start" | "end" | "gt" | "gteq" | "lt" | "lteq" | "between" | "present" | "blank" | "true" | "false" | "within_last" | "older_than" | "did" | "did_not" | "or" | "and";
                value: unknown;
            }[];
            revision: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        SegmentPreview: {
            count: number | null;
            sample: components["schemas"]["Contact"][];
            sample_out: components["schemas"]["Contact"][];
            match: {
                contact_id: number;
                matches: boolean;
                filters: {
                    /** @example filters.2.value.0 */
                    path: string;
                    matches: boolean;
                }[];
            } | null;
            warnings: components["schemas"]["FilterWarning"][];
            slow_because: string | null;
        };
        SentTest: {
            messages: {
                id: number;
                to: string | null;
            }[];
        };
        Session: {
            id: number;
            /** @enum {string} */
            kind: "token" | "cookie";
            current: boolean;
            second_factor: boolean;
            network: string | null;
            user_agent: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            last_used_at: string;
            /** Format: date-time */
            confirmed_at: string;
            /** Format: date-time */
            expires_at: string;
        };
        ShownInvitation: {
            account_name: string | null;
            email: string;
            /** @enum {string} */
            role: "owner" | "admin" | "member";
            /** Format: date-time */
            expires_at: string;
        };
        /**
         * @example {
         *       "contact_id": 7,
         *       "event_data": {
         *         "plan": "pro"
         *       },
         *       "answers": {
         *         "steps": {
         *           "3": "yes"
         *         }
         *       }
         *     }
         */
        SimulateFlow: {
            contact_id?: number;
            event_data?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            at?: string;
            answers?: {
                steps?: {
                    [key: string]: ("yes" | "no") | components["schemas"]["SimulatedAnswer"];
                };
                goal?: {
                    after_seconds: number;
                };
            };
        };
        SimulateUnsavedFlow: {
            flow_id?: number;
            goal?: string | null;
            trigger?: components["schemas"]["FlowTriggerInput"];
            steps?: components["schemas"]["FlowStepInput"][];
            contact_id: number;
            event_data?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            at?: string;
            answers?: {
                steps?: {
                    [key: string]: ("yes" | "no") | components["schemas"]["SimulatedAnswer"];
                };
                goal?: {
                    after_seconds: number;
                };
            };
        };
        SimulatedAnswer: {
            opened?: boolean;
            clicked?: boolean;
            after_seconds?: number;
            data?: {
                [key: string]: unknown;
            };
            status?: number;
            body?: unknown;
        };
        SinceStep: {
            step: number;
        };
        SinceStepInput: {
            step: number | string;
        };
        SmsMessage: {
            id?: unknown;
            letter_id?: unknown;
            account_id?: unknown;
            brand_id?: unknown;
            status?: unknown;
            contact_id?: unknown;
            campaign_id?: unknown;
            flow_id?: unknown;
            idempotency_key?: unknown;
            provider?: unknown;
            provider_message_id?: unknown;
            segments?: unknown;
            test?: unknown;
            answers_mail?: unknown;
            failure?: unknown;
            bounce?: unknown;
            hold?: unknown;
            queued_at?: unknown;
            sent_at?: unknown;
            delivered_at?: unknown;
            opened_at?: unknown;
            clicked_at?: unknown;
            created_at?: unknown;
            updated_at?: unknown;
            opaque?: unknown;
            recipients?: unknown;
            text?: unknown;
            events?: unknown;
            warnings?: unknown;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            channel: "sms";
            to: string;
            body?: string;
            template_id?: number;
            variables?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            scheduled_at?: string;
        };
        SmsSize: {
            /** @enum {string} */
            encoding: "gsm7" | "ucs2";
            units: number;
            segments: number;
            wide_characters: string[];
            reserved_segments: number;
            segment_price_cents: number | null;
        };
        SmsStep: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "sms";
            id?: number;
            ref?: string;
            template_id?: number;
            body?: string | null;
        };
        SocialSection: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "social";
            /** @default {} */
            props: {
                links?: {
                    url: string;
                    icon?: string;
                    title?: string;
                }[];
            };
            styles?: components["schemas"]["SectionStyles"];
        };
        SocialSectionInput: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "social";
            props?: {
                links?: {
                    url: string;
                    icon?: string;
                    title?: string;
                }[];
            };
            styles?: components["schemas"]["SectionStylesInput"];
        };
        SpacerSection: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "spacer";
            /**
             * @default {
             *       "height": 20
             *     }
             */
            props: {
                /** @default 20 */
                height: number;
            };
            styles?: components["schemas"]["SectionStyles"];
        };
        SpacerSectionInput: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "spacer";
            props?: {
                height?: number;
            };
            styles?: components["schemas"]["SectionStylesInput"];
        };
        SplitBranch: {
            weight: number;
            steps?: components["schemas"]["FlowStepInput"][] | null;
        };
        SplitStep: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "split";
            id?: number;
            ref?: string;
            branches: components["schemas"]["SplitBranch"][];
        };
        Stats: {
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            to: string;
            /** @enum {string} */
            interval: "hour" | "day";
            timezone: string;
            series: components["schemas"]["StatsSeries"][];
            totals: components["schemas"]["StatsFigures"];
        };
        StatsFigures: {
            sent: number;
            delivered: number;
            bounced: number;
            complained: number;
            opened: number;
            clicked: number;
            unsubscribed: number;
        };
        StatsPoint: {
            /** Format: date-time */
            at: string;
            sent: number;
            delivered: number;
            bounced: number;
            complained: number;
            opened: number;
            clicked: number;
            unsubscribed: number;
        };
        StatsSeries: {
            brand_id: number | null;
            /** @enum {string|null} */
            source: "campaign" | "flow" | "api" | null;
            /** @enum {string|null} */
            channel: "email" | "sms" | null;
            points: components["schemas"]["StatsPoint"][];
        };
        Suppression: {
            id: number;
            account_id: number;
            email: string | null;
            phone: string | null;
            /** @enum {string} */
            reason: "hard_bounce" | "soft_bounce" | "complaint" | "manual";
            source_provider: string | null;
            diagnostic: string | null;
            active: boolean;
            /** Format: date-time */
            expires_at: string | null;
            /** Format: date-time */
            created_at: string;
            ended_by: {
                /** @enum {string} */
                kind: "user" | "api_key";
                id: number;
            } | null;
        };
        Template: {
            id: number;
            /** @enum {string} */
            channel: "email" | "sms";
            campaign_id: number | null;
            flow_id: number | null;
            action_id: number | null;
            name: string | null;
            subject: string | null;
            body: string | null;
            preheader: string | null;
            from_name: string | null;
            from_email: string | null;
            reply_to: string | null;
            /** @enum {string} */
            content_from: "body" | "design";
            variables: {
                [key: string]: unknown;
            };
            revision: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            design: components["schemas"]["Design"] | null;
        };
        TemplateAttributes: {
            template_id?: number;
            subject?: string | null;
            body?: string | null;
            preheader?: string | null;
            from_name?: string | null;
            /** Format: email */
            from_email?: string | null;
            /** Format: email */
            reply_to?: string | null;
            design?: components["schemas"]["DesignInput"] | null;
            variables?: {
                [key: string]: unknown;
            } | null;
        };
        TemplateCheck: {
            problems: components["schemas"]["CheckProblem"][];
        };
        TemplateProblem: {
            field: string;
            code: string;
            message: string;
        };
        TemplateSummary: {
            id: number;
            /** @enum {string} */
            channel: "email" | "sms";
            campaign_id: number | null;
            flow_id: number | null;
            action_id: number | null;
            name: string | null;
            subject: string | null;
            body?: string | null;
            preheader: string | null;
            from_name: string | null;
            from_email: string | null;
            reply_to: string | null;
            /** @enum {string} */
            content_from: "body" | "design";
            variables: {
                [key: string]: unknown;
            };
            revision: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            design: components["schemas"]["Design"] | null;
        };
        TemplateVersion: {
            id: number;
            template_id: number;
            /** @enum {string} */
            channel: "email" | "sms";
            subject: string | null;
            preheader: string | null;
            from_name: string | null;
            from_email: string | null;
            reply_to: string | null;
            segments: number | null;
            /** Format: date-time */
            created_at: string;
        };
        TextSection: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "text";
            props: {
                html: string;
            };
            styles?: components["schemas"]["SectionStyles"];
        };
        TextSectionInput: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "text";
            props: {
                html: string;
            };
            styles?: components["schemas"]["SectionStylesInput"];
        };
        TimelineItem: {
            id: number;
            /** @enum {string} */
            type: "event" | "message" | "subscription";
            /** Format: date-time */
            occurred_at: string;
            event: {
                event: string;
                amount: number | null;
                data: {
                    [key: string]: unknown;
                };
                caused_by_mail: boolean;
            } | null;
            message: {
                /** @enum {string} */
                channel: "email" | "sms";
                /** @enum {string} */
                status: "queued" | "held" | "sent" | "delivered" | "bounced" | "complained" | "failed" | "unknown" | "skipped" | "canceled";
                subject: string | null;
                answers_mail: boolean;
                campaign_id: number | null;
                flow_id: number | null;
                /** Format: date-time */
                sent_at: string | null;
                /** Format: date-time */
                opened_at: string | null;
                /** Format: date-time */
                clicked_at: string | null;
            } | null;
            subscription: {
                /** @enum {string} */
                channel: "email" | "sms";
                subscribed: boolean;
                source: string | null;
                import_id: number | null;
            } | null;
        };
        TrackEvent: {
            id?: unknown;
            account_id?: unknown;
            user_id?: unknown;
            chain_depth?: unknown;
            generated?: unknown;
            caused_by_mail?: unknown;
            browser?: unknown;
            os?: unknown;
            device_type?: unknown;
            created_at?: unknown;
            updated_at?: unknown;
            event: string;
            contact_id?: number;
            contact_email?: string;
            idempotency_key?: string;
            amount?: number;
            resource_uid?: string;
            resource_name?: string;
            /** Format: uri */
            resource_url?: string;
            test?: boolean;
            data?: {
                [key: string]: unknown;
            };
            utm_source?: string;
            utm_medium?: string;
            utm_term?: string;
            utm_content?: string;
            utm_campaign?: string;
            ip?: string;
            user_agent?: string;
            referrer?: string;
            /** Format: date-time */
            occurred_at?: string;
        };
        TrackedEvent: {
            id: number;
            account_id: number;
            contact_id: number;
            user_id: number | null;
            chain_depth: number;
            event: string;
            amount: number | null;
            data: {
                [key: string]: unknown;
            };
            idempotency_key: string | null;
            resource_uid: string | null;
            resource_name: string | null;
            resource_url: string | null;
            test: boolean;
            generated: boolean;
            caused_by_mail: boolean;
            ip: string | null;
            user_agent: string | null;
            browser: string | null;
            os: string | null;
            device_type: string | null;
            referrer: string | null;
            utm_source: string | null;
            utm_medium: string | null;
            utm_term: string | null;
            utm_content: string | null;
            utm_campaign: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        TriggerAttributes: {
            event?: string | null;
            contact_list_id?: number | null;
            segment_id?: number | null;
            data?: ({
                exclude_list_ids?: number[];
                exclude_segment_ids?: number[];
                /**
                 * @example [
                 *       {
                 *         "name": "data.plan",
                 *         "predicate": "eq",
                 *         "value": "pro"
                 *       }
                 *     ]
                 */
                filters?: components["schemas"]["Filter"][];
            } & {
                [key: string]: unknown;
            }) | null;
        };
        UnsavedContent: {
            /** @enum {string} */
            channel?: "email" | "sms";
            subject?: string | null;
            preheader?: string | null;
            body?: string | null;
            design?: components["schemas"]["DesignInput"] | null;
            /** @enum {string} */
            footer?: "none" | "marketing";
        };
        UpdateContactStep: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "update_contact";
            id?: number;
            ref?: string;
            data: {
                [key: string]: unknown;
            };
        };
        Upload: {
            id: number;
            signed_id: string;
            /** Format: uri */
            url: string;
            filename: string;
            content_type: string;
            size: number;
            kept: boolean;
            /** Format: date-time */
            created_at: string;
        };
        UploadUsage: {
            used_bytes: number;
            quota_bytes: number;
        };
        User: {
            id: number;
            first_name: string;
            last_name: string;
            email: string;
            mobile: string;
            country_code: string;
            admin: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        ValidationItem: {
            id: number;
            contact_id: number;
            contact_channel_id: number;
            email: string | null;
            /** @enum {string|null} */
            verdict: "deliverable" | "undeliverable" | "risky" | "unknown" | null;
            reason: string | null;
            checks: {
                [key: string]: unknown;
            } | null;
            suggestion: string | null;
            charged: boolean;
            /** Format: date-time */
            checked_at: string | null;
        };
        ValidationOperation: {
            id: number;
            /** @enum {string} */
            status: "pending" | "running" | "completed" | "canceled" | "failed";
            audience: {
                /** @enum {string} */
                kind: "contact_channel_ids" | "contact_ids" | "list_id" | "segment_id";
                ids: number[];
                ids_count: number;
            };
            candidate_count: number;
            remaining_count: number;
            counts: {
                deliverable: number;
                undeliverable: number;
                risky: number;
                unknown: number;
            };
            unit_price_cents: number;
            maximum_charge_cents: number;
            charged_cents: number;
            /** @enum {string} */
            funding_state: "funded" | "insufficient_funds" | "spend_cap_reached";
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            finished_at: string | null;
        };
        ValidationQuote: {
            candidate_count: number;
            reusable_count: number;
            unit_price_cents: number;
            maximum_charge_cents: number;
            wallet_balance_cents: number;
            /** @enum {string} */
            funding_state: "funded" | "insufficient_funds" | "spend_cap_reached";
        };
        WaitForEventStep: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "wait_for_event";
            id?: number;
            ref?: string;
            event_name: string;
            filters?: components["schemas"]["Filter"][];
            duration: number;
            include_since?: "entry" | components["schemas"]["SinceStepInput"];
            yes?: components["schemas"]["FlowStepInput"][] | null;
            no?: components["schemas"]["FlowStepInput"][] | null;
        };
        WaitStep: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "wait";
            id?: number;
            ref?: string;
            duration?: number;
            until?: components["schemas"]["LocalTime"] | components["schemas"]["FieldTime"];
        };
        WalletEntry: {
            id: number;
            account_id: number;
            /** @enum {string} */
            kind: "credit" | "debit" | "top_up" | "validation" | "refund" | "usage" | "dispute";
            amount_cents: number;
            reference: string | null;
            /** Format: date */
            month: string | null;
            /** Format: date-time */
            created_at: string;
        };
        Webhook: {
            id: number;
            url: string;
            events: ("email.sent" | "email.delivered" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.failed" | "email.received" | "campaign.completed" | "campaign.failed" | "campaign.stopped" | "flow.paused" | "sending.paused" | "sending.limit_approaching" | "sending.limit_reached" | "import.completed" | "import.failed" | "domain.verified" | "domain.verification_lost" | "domain.dns_degraded" | "webhook.disabled")[];
            secret: string;
            enabled: boolean;
            /** Format: date-time */
            failing_since: string | null;
            /** Format: date-time */
            disabled_at: string | null;
            disabled_reason: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        WebhookDelivery: {
            id: number;
            webhook_id: number;
            event_id: string;
            /** @enum {string} */
            type: "email.sent" | "email.delivered" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.failed" | "email.received" | "campaign.completed" | "campaign.failed" | "campaign.stopped" | "flow.paused" | "sending.paused" | "sending.limit_approaching" | "sending.limit_reached" | "import.completed" | "import.failed" | "domain.verified" | "domain.verification_lost" | "domain.dns_degraded" | "webhook.disabled";
            /** @enum {string} */
            status: "pending" | "retrying" | "delivered" | "failed";
            response_code: number | null;
            attempt_count: number;
            /** Format: date-time */
            next_attempt_at: string | null;
            last_error: string | null;
            test: boolean;
            /** Format: date-time */
            created_at: string;
        };
        WebhookDeliveryDetail: {
            id: number;
            webhook_id: number;
            event_id: string;
            /** @enum {string} */
            type: "email.sent" | "email.delivered" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.failed" | "email.received" | "campaign.completed" | "campaign.failed" | "campaign.stopped" | "flow.paused" | "sending.paused" | "sending.limit_approaching" | "sending.limit_reached" | "import.completed" | "import.failed" | "domain.verified" | "domain.verification_lost" | "domain.dns_degraded" | "webhook.disabled";
            /** @enum {string} */
            status: "pending" | "retrying" | "delivered" | "failed";
            response_code: number | null;
            attempt_count: number;
            /** Format: date-time */
            next_attempt_at: string | null;
            last_error: string | null;
            test: boolean;
            /** Format: date-time */
            created_at: string;
            request_body: string | null;
            attempts: {
                number: number;
                /** Format: date-time */
                started_at: string;
                duration_ms: number;
                response_code: number | null;
                error: string | null;
                response_body: string | null;
            }[];
        };
        WebhookDeliveryRetries: {
            retried_count: number;
            complete: boolean;
        };
        WebhookStep: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "webhook";
            id?: number;
            ref?: string;
            url: string;
            /** @enum {string} */
            method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
            headers?: {
                [key: string]: string;
            };
            body?: unknown;
        };
    };
    responses: {
        BrandRequiredOrInsufficientFundsOrInvalidTransitionOrSandboxLimitReachedOrSenderNotVerifiedOrSpendCapReachedOrValidationError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        BrandRequiredOrInsufficientFundsOrReservedHeaderOrReservedTagOrSandboxLimitReachedOrSenderNotVerifiedOrSpendCapReachedOrValidationError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        BrandRequiredOrInsufficientFundsOrSandboxLimitReachedOrSenderNotVerifiedOrSpendCapReachedOrValidationError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        BrandRequiredOrInsufficientFundsOrSpendCapReachedOrValidationError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        BrandRequiredOrInvalidTransitionOrSandboxLimitReachedOrSenderNotVerifiedOrValidationError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        BrandRequiredOrInvalidTransitionOrSenderNotVerifiedOrValidationError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        BrandRequiredOrInvalidTransitionOrValidationError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        BrandRequiredOrUnscannedAttachmentOrValidationError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        BrandRequiredOrValidationError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        ConfirmationRequiredOrForbidden: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        ConfirmationRequiredOrForbiddenOrTestKey: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        Conflict: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        ConflictOrIdempotencyConflict: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        Forbidden: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        ForbiddenOrTestKey: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        IdempotencyConflict: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        InternalError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        MalformedJson: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        MethodNotAllowed: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        NotFound: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        OpenConflict: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        OpenForbidden: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        OpenInternalError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        OpenMalformedJson: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        OpenNotFound: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        OpenOtpRequiredOrUnauthorized: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        OpenPayloadTooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        OpenRateLimited: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        OpenUnavailable: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        OpenUnsupportedMediaType: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        OpenValidationError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        OtpRequiredOrUnauthorized: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        PayloadTooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        PreconditionFailed: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        RangeNotSatisfiable: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        RateLimited: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        SenderNotVerifiedOrValidationError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        Unauthorized: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        Unavailable: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        UnsupportedMediaType: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        ValidationError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        IdempotencyKey: string;
        AccountId: string;
        IfMatch: string;
        IfNoneMatch: string;
        BrandId: string;
        RequestId: string;
    };
    requestBodies: never;
    headers: {
        "X-Request-Id": string;
        "RateLimit-Limit": number;
        "RateLimit-Remaining": number;
        "RateLimit-Reset": number;
        "Retry-After": number;
        "Idempotent-Replayed": "true";
        "X-Total-Count": number;
        "X-Total-Count-Estimated": "true";
        "X-Total-Pages": number;
        "X-Page-Number": number;
        ETag: string;
        Link: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealth: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "ok";
                    };
                };
            };
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "ready";
                        checks: {
                            /** @enum {string} */
                            database: "ok" | "unreachable";
                            migrations: ("ok" | "unknown") | string[];
                            functions: ("ok" | "unknown") | string[];
                            /** @enum {string} */
                            engine: "ok" | "unreachable" | "not_configured";
                        };
                    };
                };
            };
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    getOpenApiYaml: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/yaml": unknown;
                };
            };
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    getOpenApiJson: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    getDocs: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": unknown;
                };
            };
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    getDocsAsset: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                name: "index.html" | "page.css" | "page.js" | "swagger-ui.css" | "swagger-ui-bundle.js";
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
            404: components["responses"]["OpenNotFound"];
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    login: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    user: {
                        email: string;
                        password: string;
                        otp?: string;
                    };
                    /**
                     * @default token
                     * @enum {string}
                     */
                    session?: "token" | "cookie";
                    return_to?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    Authorization?: string;
                    "Set-Cookie"?: string;
                    "X-CSRF-Token"?: string;
                    "X-Return-To"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["OpenMalformedJson"];
            401: components["responses"]["OpenOtpRequiredOrUnauthorized"];
            403: components["responses"]["OpenForbidden"];
            413: components["responses"]["OpenPayloadTooLarge"];
            415: components["responses"]["OpenUnsupportedMediaType"];
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    logout: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default false */
                    all?: boolean;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-CSRF-Token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    endCurrentSession: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    confirmSession: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    password: string;
                    otp?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    Authorization?: string;
                    "Set-Cookie"?: string;
                    "X-CSRF-Token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["OtpRequiredOrUnauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSessions: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    endOtherSessions: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    endSession: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listOwnAccounts: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnAccount"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnUser"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeUser: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    email?: unknown;
                    admin?: unknown;
                    temporal_ui_url?: unknown;
                    temporal_namespace?: unknown;
                    mailbox_url?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    first_name?: string | null;
                    last_name?: string | null;
                    mobile?: string | null;
                    country_code?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changePassword: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    current_password: string;
                    password: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listUsers: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    removeUser: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeUserRole: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    first_name?: unknown;
                    last_name?: unknown;
                    email?: unknown;
                    second_factor?: unknown;
                    last_active_at?: unknown;
                    created_at?: unknown;
                    /** @enum {string} */
                    role?: "owner" | "admin" | "member";
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    requestPasswordReset: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    email: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasswordResetRequest"];
                };
            };
            400: components["responses"]["OpenMalformedJson"];
            413: components["responses"]["OpenPayloadTooLarge"];
            415: components["responses"]["OpenUnsupportedMediaType"];
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    showPasswordReset: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasswordReset"];
                };
            };
            404: components["responses"]["OpenNotFound"];
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    resetPassword: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    password: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasswordReset"];
                };
            };
            400: components["responses"]["OpenMalformedJson"];
            404: components["responses"]["OpenNotFound"];
            413: components["responses"]["OpenPayloadTooLarge"];
            415: components["responses"]["OpenUnsupportedMediaType"];
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    getSecondFactor: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecondFactor"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createSecondFactor: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecondFactorSecret"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbidden"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteSecondFactor: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecondFactor"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    confirmSecondFactor: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    otp: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    Authorization?: string;
                    "Set-Cookie"?: string;
                    "X-CSRF-Token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createRecoveryCodes: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listInvitations: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Invitation"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createInvitation: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    status?: unknown;
                    invited_by?: unknown;
                    expires_at?: unknown;
                    created_at?: unknown;
                    link?: unknown;
                    /** Format: email */
                    email: string;
                    /**
                     * @default member
                     * @enum {string}
                     */
                    role?: "owner" | "admin" | "member";
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewInvitation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    resendInvitation: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewInvitation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    revokeInvitation: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Invitation"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    showInvitation: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShownInvitation"];
                };
            };
            404: components["responses"]["OpenNotFound"];
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    acceptInvitation: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    password: string;
                    /** @default  */
                    first_name?: string;
                    /** @default  */
                    last_name?: string;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["OpenMalformedJson"];
            404: components["responses"]["OpenNotFound"];
            409: components["responses"]["OpenConflict"];
            413: components["responses"]["OpenPayloadTooLarge"];
            415: components["responses"]["OpenUnsupportedMediaType"];
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    listOwnInvitations: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnInvitation"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    acceptOwnInvitation: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnInvitation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    declineOwnInvitation: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnInvitation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getAccount: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    patchAccount: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    comped?: unknown;
                    account_tier?: unknown;
                    onboarding_state?: unknown;
                    onboarding?: unknown;
                    domain_verified?: unknown;
                    can_send?: unknown;
                    using_sandbox?: unknown;
                    sandbox_email?: unknown;
                    sandbox_monthly_cap?: unknown;
                    sandbox_sends_remaining?: unknown;
                    capabilities?: unknown;
                    spend_cap_monthly_cents?: unknown;
                    billing?: unknown;
                    submission?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    brand?: unknown;
                    name?: string | null;
                    avatar?: string | null;
                    banner?: string | null;
                    email_from_name?: string | null;
                    /** Format: email */
                    email_from_email?: string | null;
                    /** Format: email */
                    email_reply_to?: string | null;
                    test_email_recipients?: string[];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["SenderNotVerifiedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listApiKeys: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                brand_id?: number;
                revoked?: "true" | "false";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createApiKey: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    prefix?: unknown;
                    last_used_at?: unknown;
                    revoked_at?: unknown;
                    created_at?: unknown;
                    key?: unknown;
                    /** @default  */
                    name?: string;
                    /** @default false */
                    test?: boolean;
                    scopes?: "send"[] | null;
                    brand_id?: number;
                    rate_limit_per_second?: number | null;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedApiKey"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    revokeApiKey: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateApiKey: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    prefix?: unknown;
                    last_used_at?: unknown;
                    revoked_at?: unknown;
                    created_at?: unknown;
                    key?: unknown;
                    brand_id?: unknown;
                    test?: unknown;
                    scopes?: unknown;
                    rate_limit_per_second?: unknown;
                    name?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listAudit: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                actor_kind?: "user" | "api_key" | "operator" | "system";
                actor_id?: number;
                action?: string;
                created_after?: string;
                created_before?: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEntry"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listMcpGrants: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpGrant"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    endMcpGrant: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpGrant"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getBrand: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Brand"] | null;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    putBrand: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    account_id?: unknown;
                    source_url?: unknown;
                    last_scraped_at?: unknown;
                    scrape?: unknown;
                    complete?: unknown;
                    revision?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    brand_color?: string | null;
                    text_color?: string | null;
                    bg_color?: string | null;
                    font_heading?: string | null;
                    font_body?: string | null;
                    style_notes?: string | null;
                    tone?: string | null;
                    company_description?: string | null;
                    industry?: string | null;
                    physical_address?: string | null;
                    company_name?: string | null;
                    logo?: string | null;
                    example_copy?: string[] | null;
                    links?: {
                        /** Format: uri */
                        url: string;
                        /** @default  */
                        icon?: string;
                        /** @default  */
                        title?: string;
                    }[];
                    default_header?: {
                        [key: string]: unknown;
                    };
                    default_footer?: {
                        [key: string]: unknown;
                    };
                    default_theme?: {
                        [key: string]: unknown;
                    };
                    track_opens?: boolean;
                    track_clicks?: boolean;
                    /** @example Europe/Berlin */
                    timezone?: string | null;
                    quiet_hours?: {
                        start: string;
                        end: string;
                        /**
                         * @default contact
                         * @example Europe/Berlin
                         * @example contact
                         */
                        timezone?: string;
                    } | null;
                    frequency_cap?: {
                        count: number;
                        per_seconds: number;
                    } | null;
                    sms_stop_text?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Brand"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    scrapeBrand: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @example https://example.com */
                    url: string;
                    /** @default false */
                    overwrite?: boolean;
                };
            };
        };
        responses: {
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BrandScrapeStarted"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listBrands: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Brand"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createBrand: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    account_id?: unknown;
                    source_url?: unknown;
                    last_scraped_at?: unknown;
                    scrape?: unknown;
                    complete?: unknown;
                    revision?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    brand_color?: string | null;
                    text_color?: string | null;
                    bg_color?: string | null;
                    font_heading?: string | null;
                    font_body?: string | null;
                    style_notes?: string | null;
                    tone?: string | null;
                    company_description?: string | null;
                    industry?: string | null;
                    physical_address?: string | null;
                    company_name: string;
                    logo?: string | null;
                    example_copy?: string[] | null;
                    links?: {
                        /** Format: uri */
                        url: string;
                        /** @default  */
                        icon?: string;
                        /** @default  */
                        title?: string;
                    }[];
                    default_header?: {
                        [key: string]: unknown;
                    };
                    default_footer?: {
                        [key: string]: unknown;
                    };
                    default_theme?: {
                        [key: string]: unknown;
                    };
                    track_opens?: boolean;
                    track_clicks?: boolean;
                    /** @example Europe/Berlin */
                    timezone?: string | null;
                    quiet_hours?: {
                        start: string;
                        end: string;
                        /**
                         * @default contact
                         * @example Europe/Berlin
                         * @example contact
                         */
                        timezone?: string;
                    } | null;
                    frequency_cap?: {
                        count: number;
                        per_seconds: number;
                    } | null;
                    sms_stop_text?: string | null;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Brand"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listMessages: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                status?: "queued" | "held" | "sent" | "delivered" | "bounced" | "complained" | "failed" | "unknown" | "skipped" | "canceled" | "sending" | "scheduled";
                channel?: "email" | "sms";
                to?: string;
                idempotency_key?: string;
                subject?: string;
                template_id?: number;
                contact_id?: number;
                created_after?: string;
                created_before?: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    sendMessage: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmailMessage"] | components["schemas"]["SmsMessage"];
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedMessage"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInsufficientFundsOrReservedHeaderOrReservedTagOrSandboxLimitReachedOrSenderNotVerifiedOrSpendCapReachedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    sendMessageBatch: {
        parameters: {
            query?: {
                atomic?: "true" | "false";
            };
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    default?: {
                        /** @enum {string} */
                        channel?: "email" | "sms";
                        subject?: string;
                        html?: string;
                        body?: string;
                        template_id?: number;
                        variables?: {
                            [key: string]: unknown;
                        };
                        from?: string;
                        from_email?: string;
                        reply_to?: string | string[];
                        in_reply_to?: string;
                        references?: string[];
                        headers?: {
                            [key: string]: string;
                        };
                        tags?: {
                            [key: string]: string;
                        };
                        tracking?: {
                            opens?: boolean;
                            clicks?: boolean;
                        };
                        /** Format: date-time */
                        scheduled_at?: string;
                        attachments?: components["schemas"]["NewAttachment"][];
                    };
                    messages: components["schemas"]["MessageOfBatch"][];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageBatch"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInsufficientFundsOrReservedHeaderOrReservedTagOrSandboxLimitReachedOrSenderNotVerifiedOrSpendCapReachedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    resendMessage: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedMessage"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInsufficientFundsOrReservedHeaderOrReservedTagOrSandboxLimitReachedOrSenderNotVerifiedOrSpendCapReachedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    downloadMessageAttachment: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
                n: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Content-Disposition"?: string;
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getMessage: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessageDetail"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeMessage: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** Format: date-time */
                    scheduled_at: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedMessage"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelMessage: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    only?: boolean;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedMessage"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listTemplates: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                summary?: "true" | "false";
                owner?: "all";
                name?: string;
                channel?: "email" | "sms";
                campaign_id?: number;
                flow_id?: number;
                created_after?: string;
                created_before?: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateSummary"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createTemplate: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    campaign_id?: unknown;
                    flow_id?: unknown;
                    action_id?: unknown;
                    content_from?: unknown;
                    revision?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    name?: string | null;
                    /**
                     * @default email
                     * @enum {string}
                     */
                    channel?: "email" | "sms";
                    subject?: string | null;
                    body?: string | null;
                    preheader?: string | null;
                    from_name?: string | null;
                    /** Format: email */
                    from_email?: string | null;
                    /** Format: email */
                    reply_to?: string | null;
                    design?: components["schemas"]["DesignInput"] | null;
                    variables?: {
                        [key: string]: unknown;
                    } | null;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getTemplate: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteTemplate: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeTemplate: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    channel?: unknown;
                    campaign_id?: unknown;
                    flow_id?: unknown;
                    action_id?: unknown;
                    revision?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    name?: string | null;
                    subject?: string | null;
                    body?: string | null;
                    preheader?: string | null;
                    from_name?: string | null;
                    /** Format: email */
                    from_email?: string | null;
                    /** Format: email */
                    reply_to?: string | null;
                    design?: components["schemas"]["DesignInput"] | null;
                    variables?: {
                        [key: string]: unknown;
                    } | null;
                    content_from?: unknown;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrSenderNotVerifiedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    duplicateTemplate: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    name?: string | null;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listTemplateVersions: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateVersion"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    checkTemplate: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateCheck"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    renderTemplate: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    contact_id?: number;
                    variables?: {
                        [key: string]: unknown;
                    };
                    /** @default true */
                    sample?: boolean;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RenderedTemplate"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    renderContent: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @default email
                     * @enum {string}
                     */
                    channel?: "email" | "sms";
                    subject?: string | null;
                    preheader?: string | null;
                    body?: string | null;
                    design?: components["schemas"]["DesignInput"] | null;
                    /**
                     * @default none
                     * @enum {string}
                     */
                    footer?: "none" | "marketing";
                    contact_id?: number;
                    variables?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RenderedTemplate"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    checkContent: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @default email
                     * @enum {string}
                     */
                    channel?: "email" | "sms";
                    subject?: string | null;
                    preheader?: string | null;
                    body?: string | null;
                    design?: components["schemas"]["DesignInput"] | null;
                    /**
                     * @default none
                     * @enum {string}
                     */
                    footer?: "none" | "marketing";
                    variables?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckedContent"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    convertDesignToHtml: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    design: components["schemas"]["DesignInput"];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DesignHtml"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    previewTemplate: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": unknown;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    sendTestOfTemplate: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    to?: string[];
                    contact_id?: number;
                    variables?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SentTest"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInsufficientFundsOrSandboxLimitReachedOrSenderNotVerifiedOrSpendCapReachedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    sendTestOfContent: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @default email
                     * @enum {string}
                     */
                    channel?: "email" | "sms";
                    subject?: string | null;
                    preheader?: string | null;
                    body?: string | null;
                    design?: components["schemas"]["DesignInput"] | null;
                    /**
                     * @default none
                     * @enum {string}
                     */
                    footer?: "none" | "marketing";
                    from_name?: string | null;
                    /** Format: email */
                    from_email?: string | null;
                    /** Format: email */
                    reply_to?: string | null;
                    to?: string[];
                    contact_id?: number;
                    variables?: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SentTest"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInsufficientFundsOrSandboxLimitReachedOrSenderNotVerifiedOrSpendCapReachedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDeliveryStatus: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        state: "open" | "limited" | "blocked";
                        commercial: {
                            /** @enum {string} */
                            account_tier: "free" | "paid" | "trusted";
                            allowance: number;
                            used: number;
                            remaining: number;
                            /** Format: date-time */
                            resets_at: string | null;
                            sandbox_monthly_cap: number | null;
                            sandbox_sends_remaining: number | null;
                            /** Format: date-time */
                            sandbox_resets_at: string | null;
                            spend_cap_monthly_cents: number | null;
                            spent_this_month_cents: number;
                            wallet_balance_cents: number;
                        };
                        exact_sender: {
                            email: string;
                            verified: boolean;
                            limited: boolean;
                            limit: number | null;
                            used: number | null;
                            remaining: number | null;
                            /** Format: date-time */
                            resets_at: string | null;
                        };
                        brand_subdomain: {
                            name: string | null;
                            limited: boolean;
                            limit: number | null;
                            used: number | null;
                            remaining: number | null;
                            /** Format: date-time */
                            resets_at: string | null;
                        };
                        pacing: {
                            limited: boolean;
                            per_minute: number | null;
                            queued: number;
                            held: number;
                            scheduled: number;
                            /** Format: date-time */
                            next_scheduled_at: string | null;
                            /** Format: date-time */
                            next_due_at: string | null;
                            /** Format: date-time */
                            due_since: string | null;
                        };
                        /** @enum {string} */
                        senders: "running" | "paused" | "stopped";
                        next: {
                            transactional: {
                                /** @enum {string} */
                                outcome: "send" | "hold" | "refuse";
                                /** @enum {string|null} */
                                reason: "account_paused" | "domain_unverified" | "warm_up" | "pacing" | "allowance_used" | "sandbox_limit_reached" | "spend_cap_reached" | "insufficient_funds" | null;
                                /** Format: date-time */
                                until: string | null;
                            };
                            marketing: {
                                /** @enum {string} */
                                outcome: "send" | "hold" | "refuse";
                                /** @enum {string|null} */
                                reason: "account_paused" | "domain_unverified" | "warm_up" | "pacing" | "allowance_used" | "sandbox_limit_reached" | "spend_cap_reached" | "insufficient_funds" | null;
                                /** Format: date-time */
                                until: string | null;
                            };
                        };
                        /** @enum {string|null} */
                        reason: "account_paused" | "domain_unverified" | "warm_up" | "pacing" | "allowance_used" | "sandbox_limit_reached" | "spend_cap_reached" | "insufficient_funds" | null;
                        remediation: string | null;
                        pause: {
                            /** Format: date-time */
                            since: string;
                            reason: string;
                        } | null;
                    };
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getStats: {
        parameters: {
            query?: {
                from?: string;
                to?: string;
                interval?: "hour" | "day";
                timezone?: string;
                source?: "campaign" | "flow" | "api";
                channel?: "email" | "sms";
                brand_id?: number;
                group_by?: "none" | "source" | "channel" | "brand";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stats"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    search: {
        parameters: {
            query: {
                q: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchResult"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSegments: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Segment"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createSegment: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    account_id?: unknown;
                    revision?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    name: string;
                    /**
                     * @default []
                     * @example [
                     *       {
                     *         "name": "data.plan",
                     *         "predicate": "eq",
                     *         "value": "pro"
                     *       }
                     *     ]
                     */
                    filters?: components["schemas"]["Filter"][];
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Segment"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    previewSegment: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @example [
                     *       {
                     *         "name": "data.plan",
                     *         "predicate": "eq",
                     *         "value": "pro"
                     *       }
                     *     ]
                     */
                    filters: components["schemas"]["Filter"][];
                    contact_id?: number;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SegmentPreview"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listFilterNames: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FilterNames"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getSegment: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Segment"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteSegment: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Segment"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeSegment: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    account_id?: unknown;
                    revision?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    name?: string;
                    /**
                     * @example [
                     *       {
                     *         "name": "data.plan",
                     *         "predicate": "eq",
                     *         "value": "pro"
                     *       }
                     *     ]
                     */
                    filters?: components["schemas"]["Filter"][];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Segment"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSegmentContacts: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Contact"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listDrafts: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                kind?: "templates" | "campaigns" | "flows" | "segments";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DraftSummary"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDraft: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                kind: "templates" | "campaigns" | "flows" | "segments";
                resource_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Draft"] | null;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    putDraft: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: components["parameters"]["IfMatch"];
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                kind: "templates" | "campaigns" | "flows" | "segments";
                resource_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    kind?: unknown;
                    resource_id?: unknown;
                    revision?: unknown;
                    updated_by?: unknown;
                    resource_changed_by?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    content: {
                        [key: string]: unknown;
                    };
                    /** @example "7" */
                    base: string;
                    base_content?: {
                        [key: string]: unknown;
                    } | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Draft"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteDraft: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                kind: "templates" | "campaigns" | "flows" | "segments";
                resource_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Draft"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSuppressions: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                email?: string;
                phone?: string;
                reason?: "hard_bounce" | "soft_bounce" | "complaint" | "manual";
                source_provider?: string;
                active?: "true" | "false";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Suppression"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createSuppression: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    account_id?: unknown;
                    source_provider?: unknown;
                    active?: unknown;
                    created_at?: unknown;
                    ended_by?: unknown;
                    email?: string;
                    phone?: string;
                    /** @constant */
                    reason?: "manual";
                    diagnostic?: string | null;
                    /** Format: date-time */
                    expires_at?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Suppression"];
                };
            };
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Suppression"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeSuppressions: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default [] */
                    add?: string[];
                    /** @default [] */
                    remove?: string[];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        results: {
                            input: string;
                            /** @enum {string} */
                            status: "added" | "already_there" | "removed" | "forbidden" | "not_found" | "invalid";
                            suppression_id: number | null;
                            reason: string | null;
                        }[];
                    };
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteSuppression: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Suppression"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listContacts: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                email?: string;
                phone?: string;
                list_id?: number;
                segment_id?: number;
                subscribed?: "true" | "false";
                verification_status?: "verified" | "suppressed" | "unverified";
                source?: string;
                created_after?: string;
                created_before?: string;
                search?: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Contact"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createContact: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    uuid?: unknown;
                    verification_status?: unknown;
                    last_interacted_at?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    first_name?: string | null;
                    last_name?: string | null;
                    email?: string;
                    phone?: string;
                    source?: string | null;
                    country_code?: string | null;
                    /** @enum {string} */
                    enrichment_status?: "enriched" | "not_enriched";
                    data?: {
                        [key: string]: unknown;
                    };
                    subscribed_email?: boolean | null;
                    subscribed_phone?: boolean | null;
                    channels?: {
                        contact_id?: unknown;
                        verified?: unknown;
                        opt_in_at?: unknown;
                        opt_out_at?: unknown;
                        sent_count?: unknown;
                        fail_count?: unknown;
                        created_at?: unknown;
                        updated_at?: unknown;
                        id?: number | null;
                        /** @enum {string|null} */
                        kind?: "email" | "phone" | null;
                        value?: string | null;
                        subscribed?: boolean | null;
                        data?: {
                            [key: string]: unknown;
                        } | null;
                    }[] | null;
                    list_ids?: number[];
                    channels_attributes?: {
                        /** @enum {string} */
                        kind: "email" | "phone";
                        value: string;
                        subscribed?: boolean;
                        data?: {
                            [key: string]: unknown;
                        };
                        contact_id?: unknown;
                        verified?: unknown;
                        opt_in_at?: unknown;
                        opt_out_at?: unknown;
                        sent_count?: unknown;
                        fail_count?: unknown;
                        created_at?: unknown;
                        updated_at?: unknown;
                    }[];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Contact"];
                };
            };
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Contact"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getContact: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Contact"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteContact: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Contact"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeContact: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    uuid?: unknown;
                    verification_status?: unknown;
                    last_interacted_at?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    first_name?: string | null;
                    last_name?: string | null;
                    email?: string;
                    phone?: string;
                    source?: string | null;
                    country_code?: string | null;
                    /** @enum {string} */
                    enrichment_status?: "enriched" | "not_enriched";
                    data?: {
                        [key: string]: unknown;
                    };
                    subscribed_email?: boolean | null;
                    subscribed_phone?: boolean | null;
                    channels?: {
                        contact_id?: unknown;
                        verified?: unknown;
                        opt_in_at?: unknown;
                        opt_out_at?: unknown;
                        sent_count?: unknown;
                        fail_count?: unknown;
                        created_at?: unknown;
                        updated_at?: unknown;
                        id?: number | null;
                        /** @enum {string|null} */
                        kind?: "email" | "phone" | null;
                        value?: string | null;
                        subscribed?: boolean | null;
                        data?: {
                            [key: string]: unknown;
                        } | null;
                    }[] | null;
                    list_ids?: number[];
                    channels_attributes?: {
                        id?: number;
                        /** @enum {string} */
                        kind?: "email" | "phone";
                        value?: string;
                        subscribed?: boolean;
                        data?: {
                            [key: string]: unknown;
                        };
                        contact_id?: unknown;
                        verified?: unknown;
                        opt_in_at?: unknown;
                        opt_out_at?: unknown;
                        sent_count?: unknown;
                        fail_count?: unknown;
                        created_at?: unknown;
                        updated_at?: unknown;
                        _destroy?: boolean;
                    }[];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Contact"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getContactTimeline: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                before?: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimelineItem"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listBulkActions: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                action?: "delete" | "add_to_list" | "remove_from_list" | "unsubscribe";
                status?: "queued" | "counting" | "running" | "completed" | "canceled" | "failed";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkAction"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createBulkAction: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    action: "delete" | "add_to_list" | "remove_from_list" | "unsubscribe";
                    list_id?: number;
                    filter: components["schemas"]["BulkFilter"];
                    /** @default false */
                    dry_run?: boolean;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkAction"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listConversationBulkActions: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                status?: "queued" | "counting" | "running" | "completed" | "canceled" | "failed";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationBulkAction"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createConversationBulkAction: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    action: "delete";
                    filter: components["schemas"]["ConversationFilter"];
                    /** @default false */
                    dry_run?: boolean;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationBulkAction"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getBulkAction: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkAction"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelBulkAction: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkAction"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getConversationBulkAction: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationBulkAction"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelConversationBulkAction: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationBulkAction"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createPreview: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    message_id?: number;
                    template_id?: number;
                    campaign_id?: number;
                    flow_id?: number;
                    step_id?: number;
                    content?: components["schemas"]["UnsavedContent"];
                    contact_id?: number;
                    variables?: {
                        [key: string]: unknown;
                    };
                    dark?: boolean;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Preview"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listLists: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                name?: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContactList"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createList: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    account_id?: unknown;
                    contacts_count?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    name: string;
                    description?: string | null;
                    /** @default true */
                    visible?: boolean;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContactList"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    showList: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContactList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteList: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContactList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateList: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    account_id?: unknown;
                    contacts_count?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    name?: string;
                    description?: string | null;
                    visible?: boolean;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContactList"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeListContacts: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default [] */
                    add?: (string | number)[];
                    /** @default [] */
                    remove?: (string | number)[];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        results: {
                            input: string | number;
                            /** @enum {string} */
                            status: "added" | "already_there" | "created" | "removed" | "not_found" | "invalid";
                            contact_id: number | null;
                            reason: string | null;
                        }[];
                    };
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listEvents: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                event?: string;
                contact_id?: number;
                contact_email?: string;
                test?: "true" | "false";
                created_after?: string;
                created_before?: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrackedEvent"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    trackEvent: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TrackEvent"];
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrackedEvent"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    trackEvents: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    events: components["schemas"]["TrackEvent"][];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        results: {
                            index: number;
                            /** @enum {string} */
                            status: "created" | "existing" | "invalid";
                            id: number | null;
                            errors: {
                                [key: string]: string[];
                            };
                        }[];
                    };
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getEvent: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrackedEvent"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteEvent: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrackedEvent"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listUploads: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                images?: "true" | "false";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Upload"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createUpload: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    file: string;
                    /**
                     * @default false
                     * @enum {string}
                     */
                    keep?: "true" | "false";
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Upload"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getUploadUsage: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadUsage"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteUpload: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                signed_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Upload"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    downloadUpload: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                signed_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Content-Disposition"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
            404: components["responses"]["OpenNotFound"];
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    createAttachment: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    file: string;
                    content_type?: string;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Attachment"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getAttachment: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Attachment"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteAttachment: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Attachment"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listExports: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                resource?: "contacts" | "suppressions" | "messages";
                status?: "queued" | "processing" | "completed" | "failed" | "canceled";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Export"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createExport: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    resource: "contacts" | "suppressions" | "messages";
                    /** @default {} */
                    filters?: {
                        [key: string]: string | number | boolean;
                    };
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Export"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getExport: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Export"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelExport: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Export"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    downloadExport: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Content-Disposition"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": unknown;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listDomains: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Domain"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createDomain: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    domain: {
                        /**
                         * @example example.com
                         * @example mail.bücher.example
                         */
                        name: string;
                        provider?: string;
                    };
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Domain"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getDomain: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Domain"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteDomain: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Domain"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    recheckDomain: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Domain"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listImports: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                status?: "queued" | "processing" | "completed" | "failed" | "canceled";
                resource?: "contacts" | "suppressions";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Import"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createImport: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    file: string;
                    /**
                     * @default contacts
                     * @enum {string}
                     */
                    resource?: "contacts" | "suppressions";
                    options?: string;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Import"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getImport: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Import"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelImport: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Import"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getImportErrors: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": unknown;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    quoteValidation: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    contact_channel_ids?: number[];
                    contact_ids?: number[];
                    list_id?: number;
                    segment_id?: number;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationQuote"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listValidations: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                status?: "pending" | "running" | "completed" | "canceled" | "failed";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationOperation"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    startValidation: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    contact_channel_ids?: number[];
                    contact_ids?: number[];
                    list_id?: number;
                    segment_id?: number;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationOperation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInsufficientFundsOrSpendCapReachedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getValidation: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationOperation"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelValidation: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationOperation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listValidationItems: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                verdict?: "deliverable" | "undeliverable" | "risky" | "unknown";
                format?: "json" | "csv";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationItem"][];
                    "text/csv": unknown;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listCampaigns: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                summary?: "true" | "false";
                status?: "draft" | "active" | "paused" | "completed";
                channel?: "email" | "sms";
                name?: string;
                created_after?: string;
                created_before?: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CampaignSummary"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createCampaign: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    account_id?: unknown;
                    approval_state?: unknown;
                    sent_count?: unknown;
                    revision?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    trigger?: unknown;
                    template?: unknown;
                    templates?: unknown;
                    name: string;
                    /**
                     * @default email
                     * @enum {string}
                     */
                    channel?: "email" | "sms";
                    /**
                     * @default draft
                     * @enum {string}
                     */
                    status?: "draft" | "active";
                    /** Format: date-time */
                    scheduled_at?: string | null;
                    data?: {
                        options?: components["schemas"]["CampaignOptions"] | null;
                    } & {
                        [key: string]: unknown;
                    };
                    trigger_attributes?: components["schemas"]["TriggerAttributes"];
                    template_attributes?: components["schemas"]["TemplateAttributes"];
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Campaign"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrSandboxLimitReachedOrSenderNotVerifiedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getCampaign: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Campaign"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteCampaign: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Campaign"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeCampaign: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    account_id?: unknown;
                    approval_state?: unknown;
                    sent_count?: unknown;
                    revision?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    trigger?: unknown;
                    template?: unknown;
                    templates?: unknown;
                    name?: string;
                    /** @enum {string} */
                    channel?: "email" | "sms";
                    /** @enum {string} */
                    status?: "draft" | "active" | "paused" | "completed";
                    /** Format: date-time */
                    scheduled_at?: string | null;
                    data?: {
                        options?: components["schemas"]["CampaignOptions"] | null;
                    } & {
                        [key: string]: unknown;
                    };
                    trigger_attributes?: components["schemas"]["TriggerAttributes"];
                    template_attributes?: components["schemas"]["TemplateAttributes"];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Campaign"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrSandboxLimitReachedOrSenderNotVerifiedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    checkCampaign: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    id?: unknown;
                    account_id?: unknown;
                    approval_state?: unknown;
                    sent_count?: unknown;
                    revision?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    trigger?: unknown;
                    template?: unknown;
                    templates?: unknown;
                    name?: string;
                    /** @enum {string} */
                    channel?: "email" | "sms";
                    /** Format: date-time */
                    scheduled_at?: string | null;
                    data?: {
                        options?: components["schemas"]["CampaignOptions"] | null;
                    } & {
                        [key: string]: unknown;
                    };
                    trigger_attributes?: components["schemas"]["TriggerAttributes"];
                    template_attributes?: components["schemas"]["TemplateAttributes"];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CampaignCheck"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    sendCampaign: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    trigger_attributes?: components["schemas"]["TriggerAttributes"];
                    template_attributes?: components["schemas"]["TemplateAttributes"];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Campaign"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrSandboxLimitReachedOrSenderNotVerifiedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelCampaign: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Campaign"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    duplicateCampaign: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    name?: string;
                    /**
                     * @default same
                     * @enum {string}
                     */
                    audience?: "same" | "not_opened";
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Campaign"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listCampaignRecipients: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                state?: "sent" | "failed" | "skipped" | "unknown" | "canceled" | "remaining";
                reason?: string;
                status?: "queued" | "held" | "sent" | "delivered" | "bounced" | "complained" | "failed" | "unknown" | "skipped" | "canceled";
                opened?: "true" | "false";
                clicked?: "true" | "false";
                format?: "json" | "csv";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CampaignRecipient"][];
                    "text/csv": unknown;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listCampaignListFills: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CampaignListFill"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    addCampaignRecipientsToList: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    list_id?: number;
                    name?: string;
                    /** @enum {string} */
                    state?: "sent" | "failed" | "skipped" | "unknown" | "canceled" | "remaining";
                    reason?: string;
                    opened?: boolean;
                    clicked?: boolean;
                    not_opened?: boolean;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CampaignListFill"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getCampaignReport: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CampaignReport"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    resendUnknownRecipients: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        requeued_count: number;
                    };
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    checkUnsavedFlow: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    flow_id?: number;
                    goal?: string | null;
                    trigger?: components["schemas"]["FlowTriggerInput"];
                    steps?: components["schemas"]["FlowStepInput"][];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlowCheck"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    simulateUnsavedFlow: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SimulateUnsavedFlow"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlowSimulation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listFlows: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                summary?: "true" | "false";
                status?: "draft" | "active" | "paused" | "archived";
                name?: string;
                created_after?: string;
                created_before?: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlowSummary"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createFlow: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    account_id?: unknown;
                    approval_state?: unknown;
                    sent_count?: unknown;
                    stop?: unknown;
                    revision?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    templates?: unknown;
                    name: string;
                    goal?: string | null;
                    /** @enum {string} */
                    unknown?: "leave" | "resend";
                    trigger?: components["schemas"]["FlowTriggerInput"];
                    steps?: components["schemas"]["FlowStepInput"][];
                    /**
                     * @default draft
                     * @enum {string}
                     */
                    status?: "draft" | "active";
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Flow"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrSenderNotVerifiedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getFlow: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Flow"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    archiveFlow: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Flow"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            412: components["responses"]["PreconditionFailed"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeFlow: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    account_id?: unknown;
                    approval_state?: unknown;
                    sent_count?: unknown;
                    stop?: unknown;
                    revision?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    templates?: unknown;
                    name?: string;
                    goal?: string | null;
                    /** @enum {string} */
                    unknown?: "leave" | "resend";
                    trigger?: components["schemas"]["FlowTriggerInput"];
                    steps?: components["schemas"]["FlowStepInput"][];
                    /** @enum {string} */
                    status?: "draft" | "active" | "paused" | "archived";
                    /**
                     * @default new
                     * @enum {string}
                     */
                    apply_to?: "new" | "waiting";
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Flow"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrSenderNotVerifiedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    activateFlow: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default false */
                    enter_existing?: boolean;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Flow"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrSenderNotVerifiedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pauseFlow: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Flow"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    resumeFlow: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "If-Match"?: components["parameters"]["IfMatch"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @default run
                     * @enum {string}
                     */
                    overdue?: "run" | "exit";
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Flow"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    duplicateFlow: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    name?: string;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Flow"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    enterFlow: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default [] */
                    contact_ids?: number[];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        results: {
                            contact_id: number;
                            /** @enum {string} */
                            status: "accepted" | "not_found";
                        }[];
                    };
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getFlowReport: {
        parameters: {
            query?: {
                from?: string;
                to?: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlowReport"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    resendUnknownOfFlow: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        requeued_count: number;
                    };
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrSenderNotVerifiedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listFlowRuns: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                contact_id?: string;
                state?: "active" | "completed" | "exited" | "canceled";
                step_id?: string;
                version?: number;
                cohort?: number;
                created_after?: string;
                created_before?: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlowRunSummary"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getFlowRun: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlowRun"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelFlowRun: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlowRun"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getFlowWebhookSecret: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        secret: string;
                    };
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listFlowVersions: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlowVersionSummary"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getFlowVersion: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlowVersion"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    simulateFlow: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SimulateFlow"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlowSimulation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listInboxes: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Inbox"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createInbox: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    brand_id?: unknown;
                    domain_id?: unknown;
                    mx_status?: unknown;
                    evicted_count?: unknown;
                    last_evicted_at?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    /** Format: email */
                    address?: string;
                    name?: string | null;
                    enabled?: boolean;
                    create_contacts?: boolean;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Inbox"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getInboxUsage: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InboxUsage"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getInbox: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Inbox"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteInbox: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Inbox"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeInbox: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    brand_id?: unknown;
                    domain_id?: unknown;
                    mx_status?: unknown;
                    evicted_count?: unknown;
                    last_evicted_at?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    /** Format: email */
                    address?: string;
                    name?: string | null;
                    enabled?: boolean;
                    create_contacts?: boolean;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Inbox"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listInboxBlocks: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InboxBlock"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createInboxBlock: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    created_at?: unknown;
                    /** Format: email */
                    email: string;
                } | {
                    id?: unknown;
                    created_at?: unknown;
                    /** @example example.com */
                    domain: string;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InboxBlock"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteInboxBlock: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InboxBlock"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listConversations: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                inbox_id?: number;
                contact_id?: number;
                assignee_id?: number;
                status?: "open" | "closed";
                unread?: "true" | "false";
                search?: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getConversation: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteConversation: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeConversation: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    inbox_id?: unknown;
                    contact_id?: unknown;
                    subject?: unknown;
                    unread_count?: unknown;
                    linked_conversation_id?: unknown;
                    last_message_at?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    /** @enum {string} */
                    status?: "open" | "closed";
                    assignee_id?: number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    markConversationRead: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    markConversationUnread: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listConversationMessages: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                conversation_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationMessage"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getConversationMessage: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                conversation_id: number;
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationMessage"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteConversationMessage: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                conversation_id: number;
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationMessage"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    downloadConversationAttachment: {
        parameters: {
            query?: {
                acknowledge_unscanned?: "true" | "false";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                conversation_id: number;
                conversation_message_id: number;
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Content-Disposition"?: string;
                    "Accept-Ranges"?: string;
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
            206: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Content-Disposition"?: string;
                    "Accept-Ranges"?: string;
                    ETag?: string;
                    "Content-Range"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            416: components["responses"]["RangeNotSatisfiable"];
            422: components["responses"]["BrandRequiredOrUnscannedAttachmentOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    downloadConversationMessage: {
        parameters: {
            query?: {
                acknowledge_unscanned?: "true" | "false";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                conversation_id: number;
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Content-Disposition"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "message/rfc822": unknown;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrUnscannedAttachmentOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    replyToConversation: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Reply"];
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationMessage"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInsufficientFundsOrInvalidTransitionOrSandboxLimitReachedOrSenderNotVerifiedOrSpendCapReachedOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listInboxQuarantine: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                inbox_id?: number;
                reason?: "spam" | "blocked" | "virus" | "unreadable" | "storage";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationMessage"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    releaseFromInboxQuarantine: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                conversation_message_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationMessage"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteFromInboxQuarantine: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                conversation_message_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationMessage"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrInvalidTransitionOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listWalletEntries: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                kind?: "credit" | "debit" | "top_up" | "validation" | "refund" | "usage" | "dispute";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WalletEntry"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    secret?: unknown;
                    enabled?: unknown;
                    failing_since?: unknown;
                    disabled_at?: unknown;
                    disabled_reason?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    /**
                     * Format: uri
                     * @example https://example.com/hooks/carillon
                     */
                    url: string;
                    events: ("email.sent" | "email.delivered" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.failed" | "email.received" | "campaign.completed" | "campaign.failed" | "campaign.stopped" | "flow.paused" | "sending.paused" | "sending.limit_approaching" | "sending.limit_reached" | "import.completed" | "import.failed" | "domain.verified" | "domain.verification_lost" | "domain.dns_degraded" | "webhook.disabled")[];
                };
            };
        };
        responses: {
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getWebhook: {
        parameters: {
            query?: {
                reveal?: "true" | "false";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    changeWebhook: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id?: unknown;
                    secret?: unknown;
                    failing_since?: unknown;
                    disabled_at?: unknown;
                    disabled_reason?: unknown;
                    created_at?: unknown;
                    updated_at?: unknown;
                    /**
                     * Format: uri
                     * @example https://example.com/hooks/carillon
                     */
                    url?: string;
                    events?: ("email.sent" | "email.delivered" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.failed" | "email.received" | "campaign.completed" | "campaign.failed" | "campaign.stopped" | "flow.paused" | "sending.paused" | "sending.limit_approaching" | "sending.limit_reached" | "import.completed" | "import.failed" | "domain.verified" | "domain.verification_lost" | "domain.dns_degraded" | "webhook.disabled")[];
                    enabled?: boolean;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ConfirmationRequiredOrForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    testWebhook: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @default email.delivered
                     * @enum {string}
                     */
                    type?: "email.sent" | "email.delivered" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.failed" | "email.received" | "campaign.completed" | "campaign.failed" | "campaign.stopped" | "flow.paused" | "sending.paused" | "sending.limit_approaching" | "sending.limit_reached" | "import.completed" | "import.failed" | "domain.verified" | "domain.verification_lost" | "domain.dns_degraded" | "webhook.disabled";
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                status?: "pending" | "retrying" | "delivered" | "failed";
                type?: "email.sent" | "email.delivered" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.failed" | "email.received" | "campaign.completed" | "campaign.failed" | "campaign.stopped" | "flow.paused" | "sending.paused" | "sending.limit_approaching" | "sending.limit_reached" | "import.completed" | "import.failed" | "domain.verified" | "domain.verification_lost" | "domain.dns_degraded" | "webhook.disabled";
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getWebhookDelivery: {
        parameters: {
            query?: never;
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
                delivery_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryDetail"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    retryWebhookDelivery: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
                delivery_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    retryWebhookDeliveries: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @default failed
                     * @enum {string}
                     */
                    status?: "failed" | "delivered";
                    /** Format: date-time */
                    since?: string;
                    /** Format: date-time */
                    until?: string;
                    /** @enum {string} */
                    type?: "email.sent" | "email.delivered" | "email.bounced" | "email.complained" | "email.opened" | "email.clicked" | "email.failed" | "email.received" | "campaign.completed" | "campaign.failed" | "campaign.stopped" | "flow.paused" | "sending.paused" | "sending.limit_approaching" | "sending.limit_reached" | "import.completed" | "import.failed" | "domain.verified" | "domain.verification_lost" | "domain.dns_degraded" | "webhook.disabled";
                };
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryRetries"];
                };
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["ForbiddenOrTestKey"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["ConflictOrIdempotencyConflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["BrandRequiredOrValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    describeAuthorizationServer: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        issuer: string;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    getMcpResource: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProtectedResource"];
                };
            };
            404: components["responses"]["OpenNotFound"];
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    getProtectedResource: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProtectedResource"];
                };
            };
            404: components["responses"]["OpenNotFound"];
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    openMcpStream: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    sendMcpMessage: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["McpMessage"];
            };
        };
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpAnswer"];
                    "text/event-stream": unknown;
                };
            };
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["MalformedJson"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listMcpCalls: {
        parameters: {
            query?: {
                page?: number;
                limit?: number;
                after?: number;
                user_id?: number;
                grant_id?: number;
                tool?: string;
                outcome?: string;
                created_after?: string;
                created_before?: string;
            };
            header?: {
                "X-Account-Id"?: components["parameters"]["AccountId"];
                "X-Brand-Id"?: components["parameters"]["BrandId"];
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "RateLimit-Limit": components["headers"]["RateLimit-Limit"];
                    "RateLimit-Remaining": components["headers"]["RateLimit-Remaining"];
                    "RateLimit-Reset": components["headers"]["RateLimit-Reset"];
                    "X-Total-Count": components["headers"]["X-Total-Count"];
                    "X-Total-Count-Estimated": components["headers"]["X-Total-Count-Estimated"];
                    "X-Total-Pages": components["headers"]["X-Total-Pages"];
                    "X-Page-Number": components["headers"]["X-Page-Number"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["McpCall"][];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            422: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    getLanding: {
        parameters: {
            query?: never;
            header?: {
                "X-Request-Id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            302: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
            404: components["responses"]["OpenNotFound"];
            422: components["responses"]["OpenValidationError"];
            429: components["responses"]["OpenRateLimited"];
            500: components["responses"]["OpenInternalError"];
            503: components["responses"]["OpenUnavailable"];
        };
    };
    on_email_sent: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "email.sent";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        message_id: number | null;
                        to: string | null;
                        subject: string | null;
                        idempotency_key?: string;
                        tags: {
                            [key: string]: string;
                        };
                        /** @constant */
                        test?: true;
                        provider: string | null;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_email_delivered: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "email.delivered";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        message_id: number | null;
                        to: string | null;
                        subject: string | null;
                        idempotency_key?: string;
                        tags: {
                            [key: string]: string;
                        };
                        /** @constant */
                        test?: true;
                        smtp_response: string | null;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_email_bounced: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "email.bounced";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        message_id: number | null;
                        to: string | null;
                        subject: string | null;
                        idempotency_key?: string;
                        tags: {
                            [key: string]: string;
                        };
                        /** @constant */
                        test?: true;
                        bounce: {
                            /** @enum {string} */
                            type: "hard" | "soft";
                            subtype: string;
                            diagnostic: string | null;
                        };
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_email_complained: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "email.complained";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        message_id: number | null;
                        to: string | null;
                        subject: string | null;
                        idempotency_key?: string;
                        tags: {
                            [key: string]: string;
                        };
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_email_opened: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "email.opened";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        message_id: number | null;
                        to: string | null;
                        subject: string | null;
                        idempotency_key?: string;
                        tags: {
                            [key: string]: string;
                        };
                        /** @constant */
                        test?: true;
                        user_agent: string | null;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_email_clicked: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "email.clicked";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        message_id: number | null;
                        to: string | null;
                        subject: string | null;
                        idempotency_key?: string;
                        tags: {
                            [key: string]: string;
                        };
                        /** @constant */
                        test?: true;
                        url: string;
                        user_agent: string | null;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_email_failed: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "email.failed";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        message_id: number | null;
                        to: string | null;
                        subject: string | null;
                        idempotency_key?: string;
                        tags: {
                            [key: string]: string;
                        };
                        /** @constant */
                        test?: true;
                        failure: {
                            code: string;
                            message: string;
                        };
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_email_received: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "email.received";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        message_id: number | null;
                        idempotency_key?: string;
                        tags: {
                            [key: string]: string;
                        };
                        from: string;
                        to: string;
                        reply_to: string | null;
                        /** Format: date-time */
                        date: string | null;
                        message_id_header: string | null;
                        subject: string | null;
                        text: string | null;
                        html: string | null;
                        truncated: boolean;
                        auto_submitted: boolean;
                        attachments: {
                            id: number | null;
                            filename: string;
                            content_type: string;
                            size: number;
                            scanned: boolean;
                        }[];
                        conversation_id: number | null;
                        conversation_message_id: number | null;
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_campaign_completed: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "campaign.completed";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        campaign_id: number | null;
                        name: string;
                        audience_count: number;
                        sent_count: number;
                        failed_count: number;
                        skipped_count: number;
                        unknown_count: number;
                        canceled_count: number;
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_campaign_failed: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "campaign.failed";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        campaign_id: number | null;
                        name: string;
                        audience_count: number;
                        sent_count: number;
                        failed_count: number;
                        skipped_count: number;
                        unknown_count: number;
                        canceled_count: number;
                        /** @enum {string} */
                        reason: "empty_audience" | "all_skipped" | "all_failed";
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_campaign_stopped: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "campaign.stopped";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        campaign_id: number | null;
                        name: string;
                        audience_count: number;
                        sent_count: number;
                        failed_count: number;
                        skipped_count: number;
                        unknown_count: number;
                        canceled_count: number;
                        stop: {
                            reason: string;
                            rate: number | null;
                            threshold: number | null;
                            /** Format: date-time */
                            at: string;
                        };
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_flow_paused: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "flow.paused";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        flow_id: number | null;
                        name: string;
                        sent_count: number;
                        cause: {
                            /** @enum {string} */
                            reason: "bounce_rate" | "complaint_rate";
                            rate: number;
                            threshold: number;
                            /** Format: date-time */
                            at: string;
                        };
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_sending_paused: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "sending.paused";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        account_id: number | null;
                        reason: string;
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_sending_limit_approaching: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "sending.limit_approaching";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        allowance: number;
                        used: number;
                        /** Format: date-time */
                        resets_at: string;
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_sending_limit_reached: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "sending.limit_reached";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        allowance: number;
                        used: number;
                        /** Format: date-time */
                        resets_at: string;
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_import_completed: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "import.completed";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        import_id: number | null;
                        /** @enum {string} */
                        resource: "contacts" | "suppressions";
                        filename: string;
                        dry_run: boolean;
                        total_rows: number;
                        created_count: number;
                        updated_count: number;
                        unchanged_count: number;
                        duplicate_count: number;
                        failed_count: number;
                        warning_count: number;
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_import_failed: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "import.failed";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        import_id: number | null;
                        /** @enum {string} */
                        resource: "contacts" | "suppressions";
                        filename: string;
                        dry_run: boolean;
                        total_rows: number;
                        created_count: number;
                        updated_count: number;
                        unchanged_count: number;
                        duplicate_count: number;
                        failed_count: number;
                        warning_count: number;
                        reason: string;
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_domain_verified: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "domain.verified";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        domain_id: number | null;
                        name: string;
                        records: {
                            /** @enum {string} */
                            record_type: "TXT" | "CNAME" | "MX";
                            name: string;
                            value: string;
                            priority: string;
                            /** @enum {string} */
                            valid: "true" | "false" | "unknown";
                            /** @enum {string} */
                            required: "true" | "false";
                            found?: string;
                        }[];
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_domain_verification_lost: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "domain.verification_lost";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        domain_id: number | null;
                        name: string;
                        records: {
                            /** @enum {string} */
                            record_type: "TXT" | "CNAME" | "MX";
                            name: string;
                            value: string;
                            priority: string;
                            /** @enum {string} */
                            valid: "true" | "false" | "unknown";
                            /** @enum {string} */
                            required: "true" | "false";
                            found?: string;
                        }[];
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_domain_dns_degraded: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "domain.dns_degraded";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        domain_id: number | null;
                        name: string;
                        records: {
                            /** @enum {string} */
                            record_type: "TXT" | "CNAME" | "MX";
                            name: string;
                            value: string;
                            priority: string;
                            /** @enum {string} */
                            valid: "true" | "false" | "unknown";
                            /** @enum {string} */
                            required: "true" | "false";
                            found?: string;
                        }[];
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    on_webhook_disabled: {
        parameters: {
            query?: never;
            header: {
                "User-Agent": string;
                "webhook-id": string;
                "webhook-timestamp": number;
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "webhook.disabled";
                    /** Format: date-time */
                    timestamp: string;
                    data: {
                        webhook_id: number | null;
                        url: string;
                        /** Format: date-time */
                        failing_since: string;
                        /** @constant */
                        test?: true;
                    };
                };
            };
        };
        responses: {
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
