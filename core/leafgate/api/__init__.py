"""What plugins are written against, and the plan that a policy is compiled to.

    hookspecs     the hooks by which a plugin offers components and commands
    components    base classes of tree builders and attacks;  metrics: those of metrics;  context: what a metric reads
    declarations  what a policy declares;  plan: AuditPlan, all that the engine knows of a policy
    paths         types of options that name files
    registry      finds, checks and loads plugins;  describe: prints what a plugin states about itself

Policies are compiled to an AuditPlan by leafgate.policy.load and carried out by leafgate.engine.audit.
"""
