// Errors of quotas that a caller can cause; see errors.ts.

import { DomainError } from '#core/domain/errors.ts';

/** A shortage of one resource class in a project's quota. */
export interface QuotaShortage {
  readonly resourceClass: string;
  readonly limit: number;
  readonly inUse: number;
  readonly requested: number;
}

export class QuotaExceeded extends DomainError {
  constructor(projectId: string, { resourceClass, limit, inUse, requested }: QuotaShortage) {
    const sentence =
      `Quota of ${resourceClass} exceeded for project ${projectId}: limit ${limit}, in use ${inUse}, wanted ${requested}. ` +
      'Delete servers with accelerators, or ask an administrator for a higher quota.';
    super('forbidden', 'cyborg.quota.exceeded', sentence);
  }
}

export class QuotaNotFound extends DomainError {
  constructor(projectId: string) {
    super('not-found', 'cyborg.quota.not_found', `Project ${projectId} has no quota.`);
  }
}
