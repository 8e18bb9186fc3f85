// Octokit as bots in JavaScript use it. Run by test_octokit.py: `node octokit.mjs SCENARIO`, the world as JSON on
// standard input, the packages' folder in MODULES. Exits with 0 when everything was as it is on GitHub.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const { App, Octokit, RequestError, createNodeMiddleware } = await import(
  pathToFileURL(`${process.env.MODULES}/octokit/dist-bundle/index.js`)
);
// The plug-ins that wait a second between writes and repeat what failed are off, but where a scenario is about them.
const atOnce = { throttle: { enabled: false }, retry: { enabled: false } };
const [owner, repo] = ["octo", "demo"];

const refusal = async (promise) => {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof RequestError, error.stack);
    return error;
  }
  assert.fail("this was to be refused");
};

const scenarios = {
  async rest({ url, tokens }) {
    const { rest } = new Octokit({ auth: tokens.dev, baseUrl: url, ...atOnce });
    const { data: issue } = await rest.issues.create({ owner, repo, title: "From Octokit", labels: ["bug"] });
    const issue_number = issue.number;
    const { data: comment } = await rest.issues.createComment({ owner, repo, issue_number, body: "one" });
    await rest.issues.updateComment({ owner, repo, comment_id: comment.id, body: "two" });
    await rest.issues.addAssignees({ owner, repo, issue_number, assignees: ["mate"] });
    await rest.issues.update({ owner, repo, issue_number, state: "closed", state_reason: "completed" });
    const seen = (await rest.issues.get({ owner, repo, issue_number })).data;
    assert.deepEqual([seen.state, seen.comments, seen.assignees.map((a) => a.login)], ["closed", 1, ["mate"]]);

    const sha = (await rest.git.getRef({ owner, repo, ref: "heads/main" })).data.object.sha;
    await rest.git.createRef({ owner, repo, ref: "refs/heads/new", sha });
    const twice = await refusal(rest.git.createRef({ owner, repo, ref: "refs/heads/new", sha }));
    assert.deepEqual([twice.status, twice.response.data.message], [422, "Reference already exists"]);
    const listed = (await rest.git.listMatchingRefs({ owner, repo, ref: "heads/ne" })).data;
    assert.deepEqual(listed.map((r) => r.ref), ["refs/heads/new"]);
    const content = Buffer.from("text").toString("base64");
    const put = { owner, repo, path: "new.txt", branch: "new", message: "Add", content };
    assert.equal((await rest.repos.createOrUpdateFileContents(put)).status, 201);
    const raw = await rest.repos.getContent({ owner, repo, path: "new.txt", ref: "new", mediaType: { format: "raw" } });
    assert.equal(raw.data, "text");
    const { data: pull } = await rest.pulls.create({ owner, repo, title: "t", head: "new", base: "main" });
    const diff = await rest.pulls.get({ owner, repo, pull_number: pull.number, mediaType: { format: "diff" } });
    assert.match(diff.data, /^diff --git a\/new.txt b\/new.txt/);
    const merged = await rest.pulls.merge({ owner, repo, pull_number: pull.number, sha: pull.head.sha });
    assert.equal(merged.data.merged, true);
    await rest.git.deleteRef({ owner, repo, ref: "heads/new" });
    const gone = await refusal(rest.git.getRef({ owner, repo, ref: "heads/new" }));
    assert.deepEqual([gone.status, gone.response.data.message], [404, "Not Found"]);
    assert.equal((await refusal(rest.pulls.checkIfMerged({ owner, repo, pull_number: 99 }))).status, 404);
    assert.equal((await rest.pulls.checkIfMerged({ owner, repo, pull_number: pull.number })).status, 204);
  },

  async conditional({ url, tokens }) {
    const octokit = new Octokit({ auth: tokens.dev, baseUrl: url, ...atOnce });
    const first = await octokit.request("GET /repos/{owner}/{repo}", { owner, repo });
    const headers = { "if-none-match": first.headers.etag };
    const again = await refusal(octokit.request("GET /repos/{owner}/{repo}", { owner, repo, headers }));
    assert.equal(again.status, 304);
    assert.equal(again.response.headers["x-ratelimit-used"], first.headers["x-ratelimit-used"]);
    const { data } = await octokit.rest.rateLimit.get();
    assert.equal(String(data.resources.core.used), first.headers["x-ratelimit-used"]);
  },

  async paginate({ url, tokens }) {
    const octokit = new Octokit({ auth: tokens.dev, baseUrl: url, ...atOnce });
    for (let n = 1; n <= 5; n += 1) await octokit.rest.issues.create({ owner, repo, title: `Issue ${n}`, body: "b" });
    const query = { owner, repo, per_page: 2, direction: "asc" };
    const all = await octokit.paginate(octokit.rest.issues.listForRepo, query);
    assert.deepEqual(all.map((i) => i.number), [1, 2, 3, 4, 5]);
    const sizes = [];
    for await (const page of octokit.paginate.iterator("GET /repos/{owner}/{repo}/issues", query)) {
      sizes.push(page.data.length);
    }
    assert.deepEqual(sizes, [2, 2, 1]);
    const some = await octokit.paginate(octokit.rest.issues.listForRepo, query, (page, done) => {
      done();
      return page.data.map((i) => i.title);
    });
    assert.deepEqual(some, ["Issue 1", "Issue 2"]);
    const found = await octokit.paginate("GET /search/issues", { q: `repo:${owner}/${repo} is:issue`, per_page: 2 });
    assert.equal(found.length, 5);
  },

  async graphql({ url, tokens, node_id: repositoryId, head }) {
    const octokit = new Octokit({ auth: tokens.dev, baseUrl: url, ...atOnce });
    const { viewer, repository } = await octokit.graphql(
      `query ($owner: String!, $repo: String!) {
        viewer { login }
        repository(owner: $owner, name: $repo) { id refs(first: 10, refPrefix: "refs/heads/") { nodes { name } } }
      }`,
      { owner, repo },
    );
    assert.equal(viewer.login, "dev");
    assert.deepEqual(repository.refs.nodes.map((r) => r.name).sort(), ["42-x", "main"]);
    const create = `mutation ($input: CreateIssueInput!) { createIssue(input: $input) { issue { id number } } }`;
    for (const title of ["a", "b", "c"]) await octokit.graphql(create, { input: { repositoryId, title } });
    const pages = await octokit.graphql.paginate(
      `query ($cursor: String) { repository(owner: "octo", name: "demo") {
        issues(first: 2, after: $cursor) { nodes { title } pageInfo { hasNextPage endCursor } } } }`,
    );
    assert.deepEqual(pages.repository.issues.nodes.map((i) => i.title), ["a", "b", "c"]);
    await assert.rejects(octokit.graphql(`{ repository(owner: "octo", name: "none") { id } }`), (error) => {
      assert.equal(error.name, "GraphqlResponseError");
      assert.equal(error.errors[0].type, "NOT_FOUND");
      assert.deepEqual(error.data, { repository: null });
      return true;
    });
    await assert.rejects(octokit.graphql(create, { input: { repositoryId } }), {
      message: /Variable \$input of type CreateIssueInput! was provided invalid value for title/,
    });
    // A lost compare-and-set says nothing; the plug-in that repeats takes it for a fault of the server.
    const update = `mutation ($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }`;
    const zero = "0".repeat(40);
    const refUpdates = [{ name: "refs/agent-recovery/active/42", beforeOid: zero, afterOid: head }];
    await octokit.graphql(update, { input: { repositoryId, refUpdates } });
    const stubborn = new Octokit({
      auth: tokens.dev,
      baseUrl: url,
      throttle: { enabled: false },
      retry: { retries: 2, retryAfterBaseValue: 5 },
    });
    await assert.rejects(stubborn.graphql(update, { input: { repositoryId, refUpdates } }), {
      message: /Something went wrong while executing your query/,
    });
  },

  async app({ url, app: { id, pem }, tokens, installation, head }) {
    const app = new App({ appId: id, privateKey: pem, Octokit: Octokit.defaults({ baseUrl: url, ...atOnce }) });
    assert.equal((await app.octokit.rest.apps.getAuthenticated()).data.slug, "keeper");
    const found = [];
    for await (const { octokit, repository } of app.eachRepository.iterator()) {
      found.push(repository.full_name);
      const check = { owner, repo, name: "gate", head_sha: head, status: "completed", conclusion: "neutral" };
      const { data: run } = await octokit.rest.checks.create(check);
      assert.equal(run.app.slug, "keeper");
      const listed = await octokit.paginate(octokit.rest.checks.listForRef, { owner, repo, ref: head, per_page: 1 });
      assert.deepEqual(listed.map((r) => r.name), ["gate"]);
    }
    assert.deepEqual(found, ["octo/demo"]);
    const octokit = await app.getInstallationOctokit(installation);
    const { token, permissions, expiresAt } = await octokit.auth({
      type: "installation",
      permissions: { issues: "read" },
      repositoryNames: [repo],
    });
    assert.deepEqual([permissions.issues, token.startsWith("ghs_")], ["read", true]);
    assert.ok(Date.parse(expiresAt) > Date.now());
    const narrow = new Octokit({ auth: token, baseUrl: url, ...atOnce });
    const refused = await refusal(narrow.rest.issues.create({ owner, repo, title: "no" }));
    assert.deepEqual([refused.status, refused.response.data.message], [403, "Resource not accessible by integration"]);
    await narrow.rest.apps.revokeInstallationAccessToken();
    assert.equal((await refusal(narrow.rest.issues.listForRepo({ owner, repo }))).status, 401);
    const person = new Octokit({ auth: tokens.dev, baseUrl: url, ...atOnce });
    assert.equal((await refusal(person.rest.checks.create({ owner, repo, name: "g", head_sha: head }))).status, 403);
  },

  // Answers every new Issue with a comment until it is told to stop by the end of its input.
  async webhooks({ url, app: { id, pem, client_id }, secret }) {
    const app = new App({
      appId: id,
      privateKey: pem,
      webhooks: { secret },
      oauth: { clientId: client_id, clientSecret: "unused" }, // the middleware asks for them
      Octokit: Octokit.defaults({ baseUrl: url, ...atOnce }),
    });
    app.webhooks.on("issues.opened", async ({ octokit, payload }) => {
      const { number: issue_number } = payload.issue;
      await octokit.rest.issues.createComment({ owner, repo, issue_number, body: `Hello, ${payload.sender.login}` });
    });
    app.webhooks.onAny(({ name, payload }) => console.log(JSON.stringify([name, payload.action ?? null])));
    app.webhooks.onError(() => {});
    const server = createServer(createNodeMiddleware(app));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    console.log(JSON.stringify({ hook: `http://127.0.0.1:${server.address().port}/api/github/webhooks` }));
    await new Promise((resolve) => process.on("SIGTERM", resolve));
    server.closeAllConnections();
    server.close();
  },
};

await scenarios[process.argv[2]](JSON.parse(await text(process.stdin)));
