import { App } from 'aws-cdk-lib';
import { CyborgStack } from './cyborg-stack.ts';
import { addChecks } from './nag.ts';
import { DeploymentInvalid, type DeploymentSettings, readSettings } from './settings.ts';

const app = new App();
addChecks(app);
const settings = settingsOrEnd();
new CyborgStack(app, `cyborg-${settings.stage}`, settings);

/** What is wrong is said in a sentence, without a trace of who found it. */
function settingsOrEnd(): DeploymentSettings {
  try {
    return readSettings(app.node);
  } catch (error) {
    if (!(error instanceof DeploymentInvalid)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}
