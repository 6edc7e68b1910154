"""Airflow: `publish` runs only where `audit` ended in 0; every attempt has a new folder, whose name it hands on."""

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG(dag_id="leafgate", schedule=None, catchup=False) as dag:
    audit = BashOperator(
        task_id="audit",
        # Values come by the environment: none of them is ever a piece of the command.
        bash_command='sh "$GATE" "$RESULTS/$RUN/report" "$POLICY" "$DATA"',
        env={
            "GATE": "/opt/leafgate/gate.sh",
            "RESULTS": "/var/lib/leafgate",
            "RUN": "{{ run_id }}-{{ ti.try_number }}",
            "POLICY": "/opt/governance/leafgate.yaml",
            "DATA": "/data/people.csv",
        },
        append_env=True,
        skip_on_exit_code=None,  # no exit code is a skip
        retries=0,  # a release with noise is not drawn again until one passes
        do_xcom_push=True,  # the last line of stdout, which is the folder's name
    )
    publish = BashOperator(
        task_id="publish",
        bash_command='sh "$COPY" "$REPORT" "$PUBLIC"',  # copies the contents, and verifies the copies
        env={
            "COPY": "/opt/leafgate/copy.sh",
            "REPORT": "{{ ti.xcom_pull(task_ids='audit') }}",
            "PUBLIC": "/srv/public",
        },
        append_env=True,
        trigger_rule="all_success",
    )
    audit >> publish
